"""Where one step of the program ends on each device and the next begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Kernels
from stallscope.model.workload import StepBasis
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.nvtx import StepRanges
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.timeline import Timeline

MIN_PERIODS = 20
"""Without NVTX steps, a kernel must run this often on a device before its period counts as a step."""


@dataclass(frozen=True, slots=True)
class StepBounds:
    """`edges[device]` are the n + 1 times that bound n steps on a device; the same n on every device."""

    name: str
    basis: StepBasis
    edges: dict[int, Int64Array]

    @property
    def count(self) -> int:
        """Number of steps."""
        return min((len(e) - 1 for e in self.edges.values()), default=0)


def step_bounds(timeline: Timeline) -> StepBounds | None:
    """Bounds from the repeated NVTX range, else from the period of the most frequent kernel, else None.

    A step ends when the last operation that was launched before the next step's start has completed. Host ranges
    themselves do not do: a host that queues ahead leaves them in microseconds while the device works on.
    """
    ranges = timeline.steps
    if ranges is not None:
        bounds = _from_ranges(timeline, ranges)
        if bounds is not None:
            return bounds
    return _from_kernels(timeline)


def _from_ranges(timeline: Timeline, ranges: StepRanges) -> StepBounds | None:
    launched = _launch_times(timeline)
    last = (launched >= ranges.starts[-1]) & (launched < ranges.ends[-1])
    # Where the last range launches nothing, the step's work follows its range (load the data, then compute).
    starts = np.append(ranges.starts, ranges.ends[-1] if last.any() else np.iinfo(np.int64).max)
    edges: dict[int, Int64Array] = {}
    for window in timeline.windows:
        rows = slice(window.first, window.after)
        found = _completions(starts, launched[rows], timeline.operations.end_ns[rows])
        if found is not None:
            edges[window.device] = found
    if not edges:
        return None
    return StepBounds(timeline.trace.names[ranges.name], "nvtx", edges)


def _launch_times(timeline: Timeline) -> Int64Array:
    """When each operation was asked for: its launch call, or its own start where no call is known."""
    starts, launch = timeline.operations.start_ns, timeline.launch
    if not len(timeline.calls):
        return starts
    return np.where(launch == NO_ROW, starts, timeline.calls.start_ns[np.maximum(launch, 0)])


def _completions(starts: Int64Array, launched: Int64Array, ends: Int64Array) -> Int64Array | None:
    order = np.argsort(launched, kind="stable")
    latest = np.maximum.accumulate(ends[order])
    before = np.searchsorted(launched[order], starts)
    if before[-1] - before[0] < len(starts) - 1:
        return None  # fewer operations than steps: these ranges do not drive this device
    # Steps that begin before the first operation have no beginning on the device.
    return latest[before[before > 0] - 1]


def _from_kernels(timeline: Timeline) -> StepBounds | None:
    kernels = timeline.trace.table(Kernels)
    if kernels is None or not len(kernels):
        return None
    operations, edges, name = timeline.operations, {}, ""
    for window in timeline.windows:
        rows = np.arange(window.first, window.after)
        rows = rows[operations.kind[rows] == OperationKind.COMPUTE]
        chosen = _most_frequent(kernels, operations.row[rows])
        if len(chosen) < MIN_PERIODS:
            continue
        edges[window.device] = np.sort(operations.end_ns[rows[chosen]])
        name = name or timeline.trace.names[operations.name[rows[chosen[0]]]]
    return StepBounds(name, "kernel", edges) if edges else None


def _most_frequent(kernels: Kernels, rows: Int64Array) -> npt.NDArray[np.intp]:
    """Positions in `rows` of the kernel (name and grid) with the most launches."""
    if not len(rows):
        return np.empty(0, np.intp)
    shape = np.stack((kernels.full_name[rows], kernels.grid_x[rows], kernels.grid_y[rows], kernels.block_x[rows]))
    keys = np.ravel_multi_index(tuple(_dense(axis) for axis in shape), [len(np.unique(a)) for a in shape])
    values, counts = np.unique(keys, return_counts=True)
    return np.flatnonzero(keys == values[np.argmax(counts)])


def _dense(values: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    return np.unique(values, return_inverse=True)[1]
