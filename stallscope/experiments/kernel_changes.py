"""Which kernels account for a change: launches and time a step, matched by NVTX path and signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from stallscope.experiments.runs import Run
from stallscope.model.comparison import KernelDelta
from stallscope.model.workload import KernelWork

MAX_ROWS = 20
MIN_STEP_SHARE = 0.005
"""A kernel row needs a change of at least this part of the base step."""

Key: TypeAlias = tuple[tuple[str, ...], str]
Work: TypeAlias = dict[Key, tuple[float, float]]


def kernel_changes(base: Sequence[Run], head: Sequence[Run]) -> tuple[KernelDelta, ...]:
    """The largest changes of kernel time a step, biggest first. They explain; the verdicts come from the ledgers."""
    before, after = _matched(_per_step(base), _per_step(head))
    names = {k.signature: k.kernel for side in (base, head) for run in side for k in run.workload.kernels}
    rows = [
        KernelDelta(
            kernel=names[key[1]],
            signature=key[1],
            nvtx=key[0],
            base_launches=round(before.get(key, (0.0, 0.0))[0], 3),
            head_launches=round(after.get(key, (0.0, 0.0))[0], 3),
            base_ns=round(before.get(key, (0.0, 0.0))[1]),
            head_ns=round(after.get(key, (0.0, 0.0))[1]),
            delta_ns=round(after.get(key, (0.0, 0.0))[1] - before.get(key, (0.0, 0.0))[1]),
        )
        for key in before.keys() | after.keys()
    ]
    step_ns = float(base[0].durations().mean()) if len(base[0].durations()) else 0.0
    rows = [row for row in rows if abs(row.delta_ns) >= MIN_STEP_SHARE * step_ns and row.delta_ns]
    return tuple(sorted(rows, key=lambda row: (-abs(row.delta_ns), row.signature, row.nvtx))[:MAX_ROWS])


def _matched(before: Work, after: Work) -> tuple[Work, Work]:
    """Match by path and signature. A signature whose paths differ between the sides is matched as a whole.

    A kernel that moved to another range, for instance because a graph launches it, is still the same kernel.
    """
    differing = {signature for _, signature in before.keys() ^ after.keys()}

    def merged(work: Work) -> Work:
        found: Work = {}
        for (path, signature), (launches, ns) in work.items():
            key = ((), signature) if signature in differing else (path, signature)
            had = found.get(key, (0.0, 0.0))
            found[key] = (had[0] + launches, had[1] + ns)
        return found

    return merged(before), merged(after)


def _keyed(run: Run) -> dict[Key, KernelWork]:
    return {(kernel.nvtx, kernel.signature): kernel for kernel in run.workload.kernels if kernel.step_launches}


def _per_step(side: Sequence[Run]) -> Work:
    """Launches and nanoseconds a step, averaged over the runs of a side."""
    total: Work = {}
    for run in side:
        for key, kernel in _keyed(run).items():
            launches, ns = total.get(key, (0.0, 0.0))
            scale = 1 / (run.step_count * len(side))
            total[key] = (launches + kernel.step_launches * scale, ns + kernel.step_time_ns * scale)
    return total
