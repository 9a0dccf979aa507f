"""Holds one set of runs against another and says, per step and per wait id, what changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stallscope.experiments.bootstrap import FloatArray, mean_difference
from stallscope.experiments.comparability import Allowance, comparability
from stallscope.experiments.fitness import fitness
from stallscope.experiments.kernel_changes import kernel_changes
from stallscope.experiments.predictions import judge
from stallscope.experiments.runs import Run, distinct
from stallscope.experiments.samples import Samples, gather
from stallscope.experiments.verdicts import CONFIDENCE, MARGIN, Thresholds, Unseen, delta, thresholds, widened
from stallscope.model.analysis import Analysis, Tool
from stallscope.model.comparison import Comparison, Delta, Noise, Reason, Side
from stallscope.model.units import duration

Charges = dict[str, tuple[FloatArray, FloatArray]]
"""Nanoseconds a repeat of both sides, by wait id."""


@dataclass(frozen=True, slots=True)
class DiffOptions:
    """`allowed` differences become caveats, `paired` overrules the guess, `tested` names the findings acted on.

    `numerics_passed` is the outcome of the numerics gate on the outputs of both sides; None means it was not run.
    """

    allowed: frozenset[Allowance] = frozenset()
    paired: bool | None = None
    tested: frozenset[str] = frozenset()
    numerics_passed: bool | None = None


def compare(
    base: Sequence[Analysis], head: Sequence[Analysis], options: DiffOptions | None = None, tool: Tool | None = None
) -> Comparison:
    """Verdict on head against base. Raises `ValueError` when a side is empty."""
    options = options or DiffOptions()
    if not base or not head:
        raise ValueError("a comparison needs at least one run on each side")
    runs = distinct(base), distinct(head)
    comparable = comparability(runs[0], runs[1], options.allowed)
    sides = _side(runs[0]), _side(runs[1])
    if comparable.obstacles:
        return Comparison(
            tool=tool or Tool(),
            verdict="not comparable",
            headline=f"not comparable: {comparable.obstacles[0].message}",
            base=sides[0],
            head=sides[1],
            reasons=(*comparable.obstacles, *comparable.caveats),
        )
    caveats = (*comparable.caveats, *_repeated(base, head, runs), *fitness(*runs))
    return _measured(gather(*runs, paired=options.paired), sides, caveats, options, tool or Tool())


def _measured(
    samples: Samples, sides: tuple[Side, Side], caveats: tuple[Reason, ...], options: DiffOptions, tool: Tool
) -> Comparison:
    durations = samples.durations()
    if not len(durations[0]) or not len(durations[1]):
        reason = Reason(id="valid.insufficient_samples", message="a side shows no device work to compare")
        return Comparison(
            tool=tool, verdict="inconclusive", headline=reason.message, base=sides[0], head=sides[1], reasons=(reason,)
        )
    charges = {wait: samples.charged(wait) for wait in _charged_ids(samples)}
    unseen = _unseen(samples, charges)
    limits, difference = _limits(samples), mean_difference(*durations, CONFIDENCE[samples.basis], samples.sampling)
    waits = _waits(samples, charges, limits, unseen)
    limits = widened(limits, unseen.of_step()) if unseen else limits
    step = delta(_mean(durations[0]), _mean(durations[1]), difference, limits)
    judged = judge(samples.runs[0], step, waits, options.tested, numerics_passed=options.numerics_passed)
    return Comparison(
        tool=tool,
        verdict=step.verdict,
        headline=_headline(step, waits),
        base=sides[0],
        head=sides[1],
        step=step,
        waits=waits,
        kernels=kernel_changes(samples.runs[0], samples.runs[1]),
        predictions=judged.predictions,
        untested=judged.untested,
        reasons=(*caveats, *_weakness(samples)),
        noise=_noise(samples, limits, step),
    )


def _limits(samples: Samples) -> Thresholds:
    base = samples.durations()[0]
    own = mean_difference(base, base, 0.95, type(samples.sampling)(samples.sampling.block))
    error = own.standard_error / 2**0.5 if own else 0.0
    return thresholds(_mean(base), error, len(base), "runs" if samples.basis == "runs" else "steps")


def _unseen(samples: Samples, charges: Charges) -> Unseen | None:
    """Several runs a side show what runs differ by; one run a side does not."""
    if samples.basis == "runs":
        return None
    base, head = ({wait: _mean(sides[side]) for wait, sides in charges.items()} for side in (0, 1))
    return Unseen.of(base).larger(Unseen.of(head))


def _waits(samples: Samples, charges: Charges, limits: Thresholds, unseen: Unseen | None) -> dict[str, Delta]:
    """Every charged id. Ids large enough to get a verdict share the confidence between them (Bonferroni)."""
    sizes = {wait: max(_mean(base), _mean(head)) for wait, (base, head) in charges.items()}
    sizeable = [wait for wait, size in sizes.items() if size >= limits.band_ns]
    confidence = 1 - (1 - CONFIDENCE[samples.basis]) / max(len(sizeable), 1)
    rows = {}
    for wait, (base, head) in charges.items():
        difference = mean_difference(base, head, confidence, samples.sampling)
        own = widened(limits, unseen.of_row(wait, sizes[wait])) if unseen else limits
        rows[wait] = delta(_mean(base), _mean(head), difference, own)
    return rows


def _charged_ids(samples: Samples) -> list[str]:
    return sorted({wait for side in samples.runs for run in side for wait in run.charged_ids})


def _mean(values: FloatArray) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _side(runs: Sequence[Run]) -> Side:
    series = runs[0].steps
    return Side(
        runs=len(runs),
        sources=tuple(run.label for run in runs),
        steps=sum(run.step_count for run in runs if run.steps),
        step_name=series.name if series else "",
        step_basis=series.basis if series else "",
        environment=dict(runs[0].environment),
    )


def _noise(samples: Samples, limits: Thresholds, step: Delta) -> Noise:
    base, head = samples.durations()
    return Noise(
        basis=samples.basis,
        band_ns=round(limits.band_ns),
        base_samples=len(base),
        head_samples=len(head),
        confidence=CONFIDENCE[samples.basis],
        paired=samples.sampling.paired,
        message=_strength(samples, limits, step),
    )


def _strength(samples: Samples, limits: Thresholds, step: Delta) -> str:
    seen = f"changes below {duration(limits.band_ns)} a step get no verdict{_needed(samples, limits, step)}"
    if samples.basis == "runs":
        return f"interval from {len(samples.runs[0])} against {len(samples.runs[1])} runs; {seen}"
    if samples.basis == "steps":
        return f"weak: only steps inside one run a side, what two runs differ by was not observed; {seen}"
    return "no repeats: one value a side has no interval"


def _needed(samples: Samples, limits: Thresholds, step: Delta) -> str:
    """How many repeats would decide: the width of an interval falls with the square root of their number."""
    half = (step.high_ns - step.low_ns) / 2
    if step.verdict != "inconclusive" or samples.basis == "none" or half <= limits.margin_ns:
        return ""
    count = min(map(len, samples.durations()))
    wanted = math.ceil(count * (half / limits.margin_ns) ** 2)
    return f"; about {wanted} {samples.basis} a side would decide about {MARGIN:.0%}"


def _weakness(samples: Samples) -> list[Reason]:
    found = []
    if samples.basis != "runs":
        message = (
            "repeat the capture (three to five runs a side, alternating) for an interval that includes run-to-run noise"
        )
        found.append(Reason(id="valid.insufficient_samples", message=message))
    if samples.skipped:
        message = f"the first {samples.skipped} step(s) of every run were left out as warm-up"
        found.append(Reason(id="valid.environment", message=message))
    names = {run.steps.name if run.steps else "" for side in samples.runs for run in side}
    if len(names) > 1:
        message = f"steps have different names: {', '.join(sorted(filter(None, names)))}"
        found.append(Reason(id="valid.workload_changed", message=message))
    return found


def _repeated(
    base: Sequence[Analysis], head: Sequence[Analysis], runs: tuple[tuple[Run, ...], tuple[Run, ...]]
) -> list[Reason]:
    """One capture given twice is no second run."""
    twice = len(base) + len(head) - len(runs[0]) - len(runs[1])
    found = []
    if twice:
        message = f"{twice} run(s) were given more than once on one side and count once"
        found.append(Reason(id="valid.insufficient_samples", message=message))
    if {run.identity for run in runs[0]} & {run.identity for run in runs[1]}:
        found.append(Reason(id="valid.insufficient_samples", message="both sides hold the same capture"))
    return found


def _headline(step: Delta, waits: dict[str, Delta]) -> str:
    """Computed from the rows, so that it cannot contradict them."""
    text = f"step {step.verdict}: {duration(step.base_ns)} → {duration(step.head_ns)}"
    changed = {word: sorted(w for w, row in waits.items() if row.verdict == word) for word in ("regressed", "improved")}
    parts = [f"{word}: {', '.join(ids)}" for word, ids in changed.items() if ids]
    return "; ".join([text, *parts])
