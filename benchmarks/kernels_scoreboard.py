"""Scores the kernel diagnosis on the measured pairs and writes docs/scoreboard-kernels.md: `kernels_scoreboard.py`.

The slow side of each pair is diagnosed from its raw page alone; what the fix really gave was timed without a profiler,
interleaved with the slow side. NVIDIA's rules are judged on the details page of the same profile.
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "probes"))

from stallscope_probes.kernels.pairs import PAIRS, Pair  # noqa: E402

from stallscope.ingest.ncu_csv import read_ncu_csv  # noqa: E402
from stallscope.kernels.runner import KernelDiagnosis, diagnose  # noqa: E402
from stallscope.model.analysis import Source  # noqa: E402
from stallscope.model.counters import CounterSet, KernelCounters  # noqa: E402

DATA = ROOT / "sample_traces" / "ncu" / "pairs"
RESULT = ROOT / "benchmarks" / "kernels_scoreboard.json"
PAGE = ROOT / "docs" / "scoreboard-kernels.md"
CONSTANT_SPEEDUP = 1.22
MEASUREMENT_ERROR = 0.02
"""Two sessions on the same card differ by this much in a pair's gain (median 0.005, one pair 0.07)."""


@dataclass(frozen=True)
class Row:
    """One pair: what was said before the fix, and what the fix gave. Gains are parts of the time."""

    pair: str
    held_out: bool
    decoy: bool
    expect: tuple[str, ...]
    cause: str
    first: bool
    in_three: bool
    achieved: float
    low: float
    likely: float
    high: float
    bound_of_planted: float | None
    ceiling: str
    vendor: float | None
    vendor_rule: str


def read(page: str) -> CounterSet:
    """A committed page."""
    data = gzip.decompress((DATA / f"{page}.csv.gz").read_bytes())
    return read_ncu_csv(data, Source(name=page, sha256="", format="ncu-csv"))


def slow_side(counters: Iterable[KernelCounters], pair: Pair) -> tuple[KernelCounters, ...]:
    """The pair's slow kernels as a run of their own."""
    mine = [k for k in counters if k.name.split("(")[0].removeprefix("pk_").startswith(f"{pair.name}_before")]
    return tuple(replace(kernel, order=order) for order, kernel in enumerate(mine))


def achieved(times: dict[str, dict[str, list[float]]], pair: Pair) -> float:
    """What the fix took off, by medians of interleaved runs."""
    mine = times[pair.name]
    return 1 - statistics.median(mine["after_ns"]) / statistics.median(mine["before_ns"])


def row_of(pair: Pair, raw: list[KernelCounters], details: list[KernelCounters], gain: float) -> Row:
    """Diagnose one slow side; several kernels count by their time."""
    kernels = slow_side(raw, pair)
    said = diagnose(CounterSet(Source(name=pair.name, sha256="", format="ncu-csv"), kernels), everything=True)
    ids = _ids(said)
    gains = [next(c.kernel_gain for c in k.causes) if k.causes else None for k in said.kernels]
    weights = [k.time_ns / sum(one.time_ns for one in said.kernels) for k in said.kernels]

    def mean(field: str) -> float:
        return sum(w * (getattr(g, field) or 0.0) for g, w in zip(gains, weights, strict=True) if g is not None)

    planted = [next((c.kernel_gain.high for c in k.causes if c.wait in pair.expect), None) for k in said.kernels]
    known = all(bound is not None for bound in planted)
    vendor, rule = _vendor(slow_side(details, pair))
    return Row(
        pair=pair.name,
        held_out=pair.held_out,
        decoy=pair.decoy,
        expect=pair.expect,
        cause=ids[0],
        first=ids[0] in pair.expect,
        in_three=bool(set(ids[:3]) & set(pair.expect)),
        achieved=round(gain, 4),
        low=round(mean("low"), 4),
        likely=round(mean("likely"), 4),
        high=round(mean("high"), 4),
        bound_of_planted=round(sum(w * (b or 0.0) for b, w in zip(planted, weights, strict=True)), 4)
        if known
        else None,
        ceiling=said.kernels[0].causes[0].ceiling if said.kernels[0].causes else "",
        vendor=vendor,
        vendor_rule=rule,
    )


def _ids(said: KernelDiagnosis) -> list[str]:
    """Causes of the longest kernel, its own first; of a chain, those of the kernel with the largest likely gain."""
    kernel = max(said.kernels, key=lambda k: (k.causes[0].kernel_gain.likely or 0.0) * k.time_ns if k.causes else 0.0)
    others = [c.wait for c in kernel.causes if c.wait != kernel.cause]
    return [kernel.cause, *others]


def _vendor(kernels: tuple[KernelCounters, ...]) -> tuple[float | None, str]:
    """NVIDIA's largest estimate of the run time (`global`) for the slow side, weighted by kernel time."""
    best = [max((e for e in k.estimates if e.kind == "global"), key=lambda e: e.percent, default=None) for k in kernels]
    if not any(best):
        return None, ""
    spent = [k.value("gpu__time_duration.sum") or 0.0 for k in kernels]
    gain = sum((e.percent / 100 if e else 0.0) * t for e, t in zip(best, spent, strict=True)) / sum(spent)
    return round(gain, 4), next(e.rule for e in best if e)


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks with ties shared."""
    array = np.asarray(values, float)
    return np.array([(array < v).sum() + ((array == v).sum() - 1) / 2 for v in array])


def spearman(one: Sequence[float], two: Sequence[float]) -> float:
    """Rank correlation."""
    return float(np.corrcoef(ranks(one), ranks(two))[0, 1])


def speedup_error(predicted: Sequence[float], gains: Sequence[float]) -> tuple[float, float]:
    """Mean and median of |estimated − achieved| / achieved speedup, the error GPA's table uses."""
    errors = [abs(1 / max(1 - p, 0.01) - 1 / (1 - g)) * (1 - g) for p, g in zip(predicted, gains, strict=True)]
    return statistics.mean(errors), statistics.median(errors)


def score(rows: list[Row]) -> dict[str, float | int]:
    """All figures of one part of the pairs."""
    gains = [row.achieved for row in rows]
    likely = [row.likely for row in rows]
    vendor = [row.vendor if row.vendor is not None else 0.0 for row in rows]
    constant = [1 - 1 / CONSTANT_SPEEDUP] * len(rows)
    figures: dict[str, float | int] = {
        "pairs": len(rows),
        "top1": sum(row.first for row in rows),
        "top3": sum(row.in_three for row in rows),
        "rank_correlation": spearman(likely, gains),
        "vendor_rank_correlation": spearman(vendor, gains),
        "violations_named": sum(row.achieved > row.high + MEASUREMENT_ERROR for row in rows),
        "violations_planted": sum(
            row.bound_of_planted is not None and row.achieved > row.bound_of_planted + MEASUREMENT_ERROR for row in rows
        ),
        "inside_interval": sum(
            row.low - MEASUREMENT_ERROR <= row.achieved <= row.high + MEASUREMENT_ERROR for row in rows
        ),
    }
    for name, values in (("", likely), ("vendor_", vendor), ("constant_", constant)):
        figures[f"{name}gain_error"] = statistics.mean(abs(p - g) for p, g in zip(values, gains, strict=True))
        mean, median = speedup_error(values, gains)
        figures[f"{name}speedup_error_mean"], figures[f"{name}speedup_error_median"] = mean, median
    return {name: round(value, 4) for name, value in figures.items()}


def measure() -> list[Row]:
    """Every pair, diagnosed and compared."""
    lines = [line for part in ("cuda", "triton") for line in (DATA / f"{part}.times.jsonl").read_text().splitlines()]
    times = {entry["pair"]: entry for entry in map(json.loads, lines)}
    if not all(entry["valid"] for entry in times.values()):
        raise SystemExit("a pair failed its numerics gate")
    raw = [kernel for part in ("cuda", "triton") for kernel in read(f"{part}.raw").kernels]
    details = [kernel for part in ("cuda", "triton") for kernel in read(f"{part}.details").kernels]
    return [row_of(pair, raw, details, achieved(times, pair)) for pair in PAIRS]


def percent(value: float | None) -> str:
    """A part of the time for the page."""
    return "–" if value is None else f"{100 * value:.0f} %"


FIGURES = (
    ("cause named first", "top1", "{} of {pairs}"),
    ("cause among the first three", "top3", "{} of {pairs}"),
    ("rank correlation of predicted and achieved gain (Spearman)", "rank_correlation", "{:.2f}"),
    ("… of NVIDIA's largest estimate", "vendor_rank_correlation", "{:.2f}"),
    ("achieved gain above the bound of the named cause", "violations_named", "{} of {pairs}"),
    ("achieved gain above the bound of the planted cause", "violations_planted", "{} of {pairs}"),
    ("achieved gain inside the printed interval", "inside_interval", "{} of {pairs}"),
    ("mean error of the gain, in parts of the time", "gain_error", "{:.3f}"),
    ("… of NVIDIA's largest estimate", "vendor_gain_error", "{:.3f}"),
    ("… of always saying 1.22×", "constant_gain_error", "{:.3f}"),
    ("median error of the speed-up, as GPA counts it", "speedup_error_median", "{:.0%}"),
    ("… of NVIDIA's largest estimate", "vendor_speedup_error_median", "{:.0%}"),
    ("… of always saying 1.22×", "constant_speedup_error_median", "{:.0%}"),
    ("mean error of the speed-up, as GPA counts it", "speedup_error_mean", "{:.0%}"),
    ("… of NVIDIA's largest estimate", "vendor_speedup_error_mean", "{:.0%}"),
    ("… of always saying 1.22×", "constant_speedup_error_mean", "{:.0%}"),
)


def page(rows: list[Row], scores: dict[str, dict[str, float | int]]) -> str:
    """The scoreboard as Markdown."""
    lines = [INTRODUCTION, "| | tuned on | held out |", "|---|---|---|"]
    for label, name, form in FIGURES:
        cells = [form.format(scores[part][name], **scores[part]) for part in ("tuned", "held_out")]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    lines += ["", TABLE_HEADING, "| pair | | cause named first | | gain said (likely) | achieved | NVIDIA says |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda one: (one.held_out, one.pair)):
        mark = "✓" if row.first else "in three" if row.in_three else "✗"
        said = f"{percent(row.low)} – {percent(row.high)} ({percent(row.likely)})"
        kind = " ".join(word for word, is_so in (("held out", row.held_out), ("decoy", row.decoy)) if is_so)
        vendor = f"{percent(row.vendor)} {row.vendor_rule}"
        lines.append(f"| {row.pair} | {kind} | {row.cause} | {mark} | {said} | {percent(row.achieved)} | {vendor} |")
    return "\n".join([*lines, "", MISSES, ""])


INTRODUCTION = """# Scoreboard: causes inside kernels

Written by `benchmarks/kernels_scoreboard.py` from `sample_traces/ncu/pairs`; do not edit.

51 pairs of kernels on one NVIDIA H200 (driver 580.159.04, CUDA 13.0, ncu 2025.3.1, `--set full --clock-control none`;
source in `probes/stallscope_probes/kernels/`). The slow side was diagnosed from its counters alone; the gain was timed
without a profiler, 25 interleaved runs a side, both sides giving the same result within the pair's tolerance. The
split was fixed before any counter was looked at; thresholds and factors were fitted on the tuned part only. The pairs
are small kernels with one planted fault each and were written by the authors of the rules: real kernels mix faults, so
expect less. "NVIDIA says" is the largest estimate of the run time among the rules of the same profile (its rules make
several statements a kernel and do not claim that the largest is the one to act on). Decoys change something true of
the code that is worth nothing.
"""
TABLE_HEADING = """## Pair by pair

Gains are parts of the slow side's time.
"""
MISSES = """## What went wrong

* `staged_copy` (decoy): the bank conflicts were rightly called worth nothing, but the kernel was called latency-bound
  (52 % of DRAM) where the table expects memory-bound; its fix of the decoy gave nothing, and the 44 % said belong to
  wider loads, which the pair does not try.
* `crowded_out`: random lookups move eight times the sectors they use, which was named first; the pair's change (room
  for more warps) came second with the right size.
* `two_sweeps`: counters cannot show that the same bytes are read twice on purpose. The kernel was called memory-bound
  with nothing left inside it; `kernel.mem.dram` with its bound came second. Its achieved gain lies above the 4 % that
  are left for the same bytes: one of the two bound violations.
* `gemm_small_tile` (held out): the other bound violation. The larger tile also removed barriers and address arithmetic
  that the coupling table does not count among the loads (bound 63 %, achieved 76 %).
* `row_sums` (held out): 32-way bank conflicts were named second, the loop that stages its tile through registers first.
* `tri_ieee_gemm`: TF32 instead of IEEE brought 12 % where 45 % were called likely: the tile was too small to feed the
  tensor cores.
"""


def main() -> None:
    """Measure, store, write the page."""
    rows = measure()
    scores = {
        "tuned": score([row for row in rows if not row.held_out]),
        "held_out": score([row for row in rows if row.held_out]),
    }
    RESULT.write_text(json.dumps({"scores": scores, "pairs": [asdict(row) for row in rows]}, indent=1) + "\n")
    PAGE.write_text(page(rows, scores))
    print(json.dumps(scores, indent=1))


if __name__ == "__main__":
    main()
