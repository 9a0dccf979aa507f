"""What became of the base analysis's predictions: confirmed, partial, refuted, moved or invalid."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from stallscope.experiments.expectations import STEP_METRIC, WINDOW_METRIC, Expected, expected
from stallscope.experiments.runs import Run
from stallscope.model.comparison import Delta, Judgement, PredictionOutcome
from stallscope.model.findings import Finding
from stallscope.model.units import duration

MOVED_SHARE = 0.5
"""The wait moved when another id grew by at least this part of what the target lost."""

GONE_SHARE = 0.5
"""An experiment acted on a wait when at least this part of it went away."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgements, and the findings whose wait the change did not touch."""

    predictions: tuple[Judgement, ...]
    untested: tuple[str, ...]


def judge(
    base: Sequence[Run],
    step: Delta,
    waits: Mapping[str, Delta],
    tested: Collection[str] = (),
    *,
    numerics_passed: bool | None = None,
) -> Judged:
    """Judge every finding that has a prediction.

    One whose wait lies outside the compared steps is untested, and so is one whose wait stayed, unless `tested` names
    its finding or wait id: then the change was meant for it, and the prediction is refuted.
    """
    judgements, untested = [], []
    for finding in base[0].analysis.findings:
        if finding.severity == "note" or not finding.recoverable_ns.high:
            continue
        named = finding.id in tested or finding.wait in tested
        if not named and not _touched(finding, waits):
            untested.append(finding.id)
            continue
        gain = expected(finding, base[0])
        if gain.metric != _metric(base[0]):
            untested.append(finding.id)  # a wait of the set-up cannot be judged by the steps
            continue
        outcome, reason = _outcome(finding, gain, step, waits)
        if numerics_passed is False:
            outcome, reason = "invalid", "the numerics gate failed: the changed program computes something else"
        judgements.append(_judgement(finding, gain, step, outcome, reason))
    return Judged(tuple(judgements), tuple(untested))


def _metric(run: Run) -> str:
    return STEP_METRIC if run.steps else WINDOW_METRIC


def _touched(finding: Finding, waits: Mapping[str, Delta]) -> bool:
    """Most of the wait went away, beyond doubt."""
    row = waits.get(finding.wait)
    return row is not None and row.high_ns < 0 and -row.delta_ns >= GONE_SHARE * row.base_ns


def _outcome(
    finding: Finding, gain: Expected, step: Delta, waits: Mapping[str, Delta]
) -> tuple[PredictionOutcome, str]:
    low, high = -step.high_ns, -step.low_ns  # of the measured gain
    measured = f"a step gained {duration(low)} … {duration(high)}"
    predicted = f"{duration(gain.low_ns)} … {duration(gain.high_ns)} predicted"
    if step.verdict == "inconclusive":
        return "invalid", f"valid.insufficient_samples: {measured}, too wide to judge {predicted}"
    if step.verdict == "improved":
        if high >= gain.low_ns:
            return "confirmed", f"{measured}, {predicted}"
        return "partial", f"{measured}, less than the {predicted}"
    grown = _grown(finding.wait, waits)
    if grown is not None and _touched(finding, waits):
        return "moved", f"{finding.wait} went away and {grown} grew in its place; {measured}"
    if not _touched(finding, waits):
        return "refuted", f"{finding.wait} is still there; {measured}, {predicted}"
    return "refuted", f"{finding.wait} went away and the step did not get faster; {measured}, {predicted}"


def _grown(wait: str, waits: Mapping[str, Delta]) -> str | None:
    """The id that grew most, if by enough to have taken the wait's place."""
    lost = -waits[wait].delta_ns if wait in waits else 0
    others = {other: row.delta_ns for other, row in waits.items() if other != wait and row.low_ns > 0}
    if not others or lost <= 0:
        return None
    most = max(sorted(others), key=lambda other: others[other])
    return most if others[most] >= MOVED_SHARE * lost else None


def _judgement(finding: Finding, gain: Expected, step: Delta, outcome: PredictionOutcome, reason: str) -> Judgement:
    return Judgement(
        finding=finding.id,
        wait=finding.wait,
        experiment=finding.experiments[0].title if finding.experiments else "",
        verdict=outcome,
        predicted_low_ns=round(gain.low_ns),
        predicted_high_ns=round(gain.high_ns),
        measured_low_ns=-step.high_ns,
        measured_high_ns=-step.low_ns,
        reason=reason,
    )
