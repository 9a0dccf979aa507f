"""How often `diff` calls a change where there is none, and how often it sees a real 5 %.

Repeats are drawn from the device steps of real captures in blocks (neighbouring steps stay together), so their skew,
outliers and drift are real. A/A compares two draws of one capture; a false alarm is *any* improved or regressed row:
the step or any wait id. A/B slows every row of the head side by 5 %. `runs` adds a run-to-run level of 1 % (standard
deviation) to five runs a side; `steps` has one run a side.

    python benchmarks/diff_false_alarms.py [COMPARISONS]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from stallscope.api import analyze_trace
from stallscope.experiments.diff import compare
from stallscope.ingest.open import open_trace
from stallscope.model.analysis import Analysis
from stallscope.model.comparison import Comparison
from stallscope.model.workload import StepSeries

SAMPLES = Path(__file__).resolve().parent.parent / "sample_traces" / "h200"
MIN_STEPS = 15
BLOCK = 5
RUNS = 5
LEVEL_DEVIATION = 0.01
SLOWER = 1.05


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of the comparisons of one capture."""

    false_alarms: float
    found: float
    undecided: float


def captures() -> Iterator[tuple[str, Analysis]]:
    """Real captures with enough steps and a ledger for each of them."""
    for path in sorted(SAMPLES.rglob("*.sqlite")):
        analysis = analyze_trace(open_trace(path))
        steps = analysis.workload.steps if analysis.workload else None
        if steps is not None and len(steps.durations_ns) >= MIN_STEPS and steps.waits_ns:
            yield path.stem, analysis


def measure(analysis: Analysis, comparisons: int, *, runs: int, seed: int = 7) -> Rates:
    """A/A false alarms and A/B power of one capture."""
    rng = np.random.default_rng(seed)
    alarms = found = undecided = 0
    for _ in range(comparisons):
        base = [_draw(analysis, rng, level=_level(rng, runs)) for _ in range(runs)]
        same = [_draw(analysis, rng, level=_level(rng, runs)) for _ in range(runs)]
        slower = [_draw(analysis, rng, level=_level(rng, runs) * SLOWER) for _ in range(runs)]
        alarms += _alarmed(compare(base, same))
        verdict = compare(base, slower).verdict
        found += verdict == "regressed"
        undecided += verdict == "inconclusive"
    return Rates(alarms / comparisons, found / comparisons, undecided / comparisons)


def _level(rng: np.random.Generator, runs: int) -> float:
    return 1.0 if runs == 1 else float(rng.normal(1, LEVEL_DEVIATION))


def _draw(analysis: Analysis, rng: np.random.Generator, level: float) -> Analysis:
    """A run made of blocks of the capture's own steps after its warm-up, scaled by a level."""
    workload = analysis.workload
    if workload is None or workload.steps is None:
        raise ValueError("a capture without steps cannot be resampled")
    steps = workload.steps
    first = len(steps.durations_ns) // 5
    count = len(steps.durations_ns) - first
    starts = rng.integers(0, count, -(-count // BLOCK))
    rows = first + ((starts[:, None] + np.arange(BLOCK)) % count).ravel()[:count]
    waits = {
        wait: tuple(np.round(np.array(values)[rows] * level).astype(int).tolist())
        for wait, values in steps.waits_ns.items()
    }
    drawn = StepSeries(
        name=steps.name,
        basis=steps.basis,
        durations_ns=tuple(sum(column) for column in zip(*waits.values(), strict=True)),
        waits_ns=waits,
    )
    source = msgspec.structs.replace(analysis.sources[0], sha256=f"{rng.integers(1 << 62):064x}")
    workload = msgspec.structs.replace(workload, steps=drawn, kernels=())
    return msgspec.structs.replace(analysis, sources=(source,), workload=workload)


def _alarmed(comparison: Comparison) -> bool:
    rows = [comparison.verdict, *(row.verdict for row in comparison.waits.values())]
    return any(verdict in ("improved", "regressed") for verdict in rows)


def main() -> None:
    """Print one line a capture and basis, and the totals."""
    comparisons = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"{'capture':28} {'basis':6} {'A/A alarms':>10} {'5 % found':>10} {'undecided':>10}   ({comparisons} each)")
    totals: dict[str, list[Rates]] = {"steps": [], "runs": []}
    for name, analysis in captures():
        for basis, runs in (("steps", 1), ("runs", RUNS)):
            rates = measure(analysis, comparisons, runs=runs)
            totals[basis].append(rates)
            print(f"{name:28} {basis:6} {rates.false_alarms:10.1%} {rates.found:10.1%} {rates.undecided:10.1%}")
    for basis, all_rates in totals.items():
        alarms = float(np.mean([rates.false_alarms for rates in all_rates]))
        power = float(np.mean([rates.found for rates in all_rates]))
        print(f"{'all':28} {basis:6} {alarms:10.1%} {power:10.1%}   ({comparisons * len(all_rates)} A/A comparisons)")


if __name__ == "__main__":
    main()
