"""May two sets of runs be held against each other? Same machine, same way of tracing, same work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal, get_args

from stallscope.experiments.runs import Run
from stallscope.model.comparison import Reason

Allowance = Literal["gpu", "driver", "clocks", "trace", "workload"]
ALLOWANCES: tuple[Allowance, ...] = get_args(Allowance)

MIN_SIMILARITY = 0.8
"""Launches a step, matched by kernel signature: sum of minima over sum of maxima."""

MIN_WINDOW_SIMILARITY = 0.98
"""The same when whole windows are compared for want of steps."""

MIN_TIME_COVERED = 0.5
"""Part of one side's kernel time that must belong to signatures which the other side runs as well."""

CLOCK_TOLERANCE = 0.03
_MIN_COMMON_KERNELS = 5
_UNIFORM_SPREAD = 0.02
_PLAUSIBLE_CLOCKS = (0.7, 1.4)

_MACHINE: tuple[tuple[str, Allowance, str], ...] = (
    ("gpu", "gpu", "GPU"),
    ("gpus", "gpu", "number of GPUs at work"),
    ("compute_capability", "gpu", "compute capability"),
    ("driver", "driver", "driver"),
    ("cuda_driver", "driver", "CUDA driver version"),
    ("format", "trace", "kind of trace"),
)


@dataclass(frozen=True, slots=True)
class Comparability:
    """`obstacles` forbid numbers; `caveats` are printed beside them."""

    obstacles: tuple[Reason, ...]
    caveats: tuple[Reason, ...]


def comparability(base: Sequence[Run], head: Sequence[Run], allowed: frozenset[Allowance]) -> Comparability:
    """Every difference between the sides that is not the experiment itself; allowed ones become caveats."""
    found: list[tuple[Allowance, Reason]] = [*_machine(base, head), *_tracing(base, head), *_clocks(base, head)]
    if not any(kind == "trace" for kind, _ in found):
        found += _work(base, head) or _units(base, head)
    obstacles = tuple(reason for kind, reason in found if kind not in allowed)
    caveats = [reason for kind, reason in found if kind in allowed]
    return Comparability(obstacles, (*caveats, *_unknown(base, head), *_uniform_change(base, head)))


def _machine(base: Sequence[Run], head: Sequence[Run]) -> list[tuple[Allowance, Reason]]:
    found: list[tuple[Allowance, Reason]] = []
    for key, kind, label in _MACHINE:
        values = [_values(side, key) for side in (base, head)]
        if values[0] and values[1] and len(set(values[0]) | set(values[1])) > 1:
            message = f"{label} differs: {_listed(values[0])} on the base side, {_listed(values[1])} on the head side"
            found.append((kind, Reason(id="valid.environment", message=message)))
    return found


def _tracing(base: Sequence[Run], head: Sequence[Run]) -> list[tuple[Allowance, Reason]]:
    """A trace without the nodes of CUDA graphs hides work that a trace with them shows."""
    hidden = [any(run.hides_graphs for run in side) for side in (base, head)]
    if hidden[0] == hidden[1]:
        return []
    side = "base" if hidden[0] else "head"
    message = f"the {side} side hides the kernels inside CUDA graphs: trace it with --cuda-graph-trace=node"
    return [("trace", Reason(id="valid.environment", message=message))]


def _clocks(base: Sequence[Run], head: Sequence[Run]) -> list[tuple[Allowance, Reason]]:
    clocks = [
        [float(run.environment["sm_clock_mhz"]) for run in s if "sm_clock_mhz" in run.environment] for s in (base, head)
    ]
    if not clocks[0] or not clocks[1]:
        return []
    low, high = sorted((median(clocks[0]), median(clocks[1])))
    if high <= low * (1 + CLOCK_TOLERANCE):
        return []
    seen = f"{median(clocks[0]):.0f} against {median(clocks[1]):.0f} MHz"
    message = f"SM clock differs by more than {CLOCK_TOLERANCE:.0%}: {seen}"
    return [("clocks", Reason(id="valid.environment", message=message))]


def _work(base: Sequence[Run], head: Sequence[Run]) -> list[tuple[Allowance, Reason]]:
    found: list[tuple[Allowance, Reason]] = []
    for name, side in (("base", base), ("head", head)):
        odd = [run.label for run in side[1:] if not same_work(side[0], run)]
        if odd:
            message = (
                f"the {name} runs are not runs of one program: {side[0].label} and {_listed(odd)} do different work"
            )
            found.append(("workload", Reason(id="valid.workload_changed", message=message)))
    if not found and not same_work(base[0], head[0]):
        found.append(("workload", Reason(id="valid.workload_changed", message=_work_message(base[0], head[0]))))
    return found


def _units(base: Sequence[Run], head: Sequence[Run]) -> list[tuple[Allowance, Reason]]:
    """Both sides must have the same unit of work: NVTX steps, periods of one kernel, or equal whole windows."""
    bases = sorted({run.steps.basis if run.steps else "window" for side in (base, head) for run in side})
    if len(bases) > 1:
        message = f"no common unit of work ({_listed(bases)}): annotate the same step with NVTX in both programs"
        return [("workload", Reason(id="valid.workload_changed", message=message))]
    if bases == ["window"] and similarity(base[0], head[0]) < MIN_WINDOW_SIMILARITY:
        message = "without repeated steps the runs must do the same amount of work, and their launch counts differ"
        return [("workload", Reason(id="valid.workload_changed", message=message))]
    return []


def same_work(base: Run, head: Run) -> bool:
    """Whether both runs launch the same kernels about equally often a step.

    Time shares alone would not do, because a fix changes them; launch counts alone would not do either, because a
    thousand small fills look alike in any program.
    """
    if not base.launches or not head.launches:
        return not base.launches and not head.launches
    return (
        similarity(base, head) >= MIN_SIMILARITY and max(covered(base, head), covered(head, base)) >= MIN_TIME_COVERED
    )


def similarity(base: Run, head: Run) -> float:
    """Weighted Jaccard index of launches a step by signature."""
    signatures = base.launches.keys() | head.launches.keys()
    pairs = [(base.launches.get(s, 0.0), head.launches.get(s, 0.0)) for s in signatures]
    return sum(map(min, pairs)) / sum(map(max, pairs)) if pairs else 1.0


def covered(run: Run, other: Run) -> float:
    """Part of the run's kernel time in signatures that the other run launches too."""
    total = sum(run.kernel_ns.values())
    return sum(ns for s, ns in run.kernel_ns.items() if s in other.launches) / total if total else 0.0


def _work_message(base: Run, head: Run) -> str:
    names = base.kernel_names & head.kernel_names
    if len(names) >= MIN_SIMILARITY * len(base.kernel_names | head.kernel_names):
        what = "the same kernels run with other grids or other counts a step: the problem size changed"
    else:
        what = "the sides run different kernels"
    return (
        f"{what} ({similarity(base, head):.0%} of the launches match); if the change under test replaces kernels "
        "and a step still does the same work, say so with --allow workload and pass the numerics gate"
    )


def _unknown(base: Sequence[Run], head: Sequence[Run]) -> list[Reason]:
    """What could not be checked is said, never assumed equal."""
    silent = [label for key, _, label in _MACHINE if not (_values(base, key) and _values(head, key))]
    if not silent:
        return []
    return [Reason(id="valid.environment", message=f"not recorded on both sides, so not compared: {', '.join(silent)}")]


def _uniform_change(base: Sequence[Run], head: Sequence[Run]) -> list[Reason]:
    """All kernels faster or slower by one factor is what a clock or power change looks like, not an optimisation."""
    ratios = [
        (head[0].kernel_ns[s] / head[0].launches[s]) / (base[0].kernel_ns[s] / base[0].launches[s])
        for s in base[0].kernel_ns.keys() & head[0].kernel_ns.keys()
        if base[0].kernel_ns[s] and head[0].launches.get(s)
    ]
    if len(ratios) < _MIN_COMMON_KERNELS:
        return []
    middle = median(ratios)
    spread = median(abs(ratio / middle - 1) for ratio in ratios) if middle else 1.0
    moved = abs(middle - 1) > CLOCK_TOLERANCE and _PLAUSIBLE_CLOCKS[0] < middle < _PLAUSIBLE_CLOCKS[1]
    if not moved or spread > _UNIFORM_SPREAD:
        return []
    message = (
        f"{len(ratios)} kernels changed by one factor ({middle:.2f}): clocks or power probably differ; "
        "lock them and repeat"
    )
    return [Reason(id="valid.environment", message=message)]


def _values(side: Sequence[Run], key: str) -> list[str]:
    return sorted({run.environment[key] for run in side if run.environment.get(key)})


def _listed(values: Sequence[str]) -> str:
    return ", ".join(values)
