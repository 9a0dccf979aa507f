"""One trace with everything derived from it, each derivation computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, Copies, Kernels, NvtxRanges
from stallscope.model.scope import WHOLE, Scope
from stallscope.model.trace import Trace
from stallscope.timeline.blocking import BlockedGaps, blocked_gaps, holding_calls, pageable_copy_calls
from stallscope.timeline.calls import CallKind, HostCalls, host_calls
from stallscope.timeline.gaps import Gaps, find_gaps, held_gaps
from stallscope.timeline.grouping import Groups, groups
from stallscope.timeline.intervals import Int64Array, IntervalSet, intersect
from stallscope.timeline.launches import from_graph, launch_rows
from stallscope.timeline.nvtx import RangeTree, StepRanges
from stallscope.timeline.operations import OperationKind, Operations, operations
from stallscope.timeline.recompiling import recompiles
from stallscope.timeline.rows import Picked, RowArray, picked
from stallscope.timeline.stream_order import StreamOrder
from stallscope.timeline.windows import DeviceWindow, device_windows

EVERY = slice(None)

KERNEL_SHAPE = ("full_name", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


@dataclass(frozen=True)
class Timeline:
    """Derived tables of one trace. All are pure functions of the trace and the scope."""

    trace: Trace
    scope: Scope = WHOLE

    @cached_property
    def operations(self) -> Operations:
        """Everything that occupied a device, by (device, start)."""
        found = operations(self.trace)
        if self.scope.device is None:
            return found
        return found.take(found.device == self.scope.device)

    @cached_property
    def calls(self) -> HostCalls:
        """API calls by (thread, start); empty when they were not collected."""
        calls = self.trace.table(ApiCalls)
        return host_calls(calls if calls is not None else ApiCalls.empty(), self.trace.names)

    @cached_property
    def kernel_shapes(self) -> Groups:
        """The distinct (name, grid, block) of the rows of Kernels."""
        kernels = self.trace.table(Kernels)
        if kernels is None:
            kernels = Kernels.empty()
        found = groups(*(kernels.array(name) for name in KERNEL_SHAPE))
        for name in KERNEL_SHAPE:
            kernels.replace_by(name, Picked(picked(kernels.array(name), found.first), found.of))
        return found

    @cached_property
    def _blocks_of_shape(self) -> Int64Array:
        kernels = self.trace.table(Kernels)
        return kernels.blocks[self.kernel_shapes.first] if kernels is not None else np.empty(0, np.int64)

    def blocks(self, kernel: RowArray) -> Int64Array:
        """Thread blocks of rows of Kernels."""
        return self._blocks_of_shape[self.kernel_shapes.of[kernel]]

    @cached_property
    def launch(self) -> RowArray:
        """Row in `calls` of each operation's launch, or NO_ROW."""
        return launch_rows(self.operations, self.calls)

    def launched_ns(self, rows: Int64Array | RowArray | slice = EVERY) -> Int64Array:
        """When operations were asked for: the start of their launch call, else their own.

        Not kept: of a long trace only few are looked at, or all at once.
        """
        own, launch = self.operations.start_ns[rows], self.launch[rows]
        if not len(self.calls):
            return own
        return np.where(launch == NO_ROW, own, picked(self.calls.start_ns, np.maximum(launch, 0)))

    @cached_property
    def stream_order(self) -> StreamOrder:
        """The operations of every stream in the order in which they were submitted."""
        return StreamOrder(self.operations, self.launched_ns)

    @cached_property
    def from_graph(self) -> npt.NDArray[np.bool_]:
        """Operations that a graph launch started."""
        return from_graph(self.calls, self.launch)

    @cached_property
    def gaps(self) -> Gaps:
        """Idle gaps of every device."""
        return find_gaps(self.operations, self.launch, self.calls, self.from_graph)

    @cached_property
    def held_gaps(self) -> Int64Array:
        """Rows of the gaps in which the successor lay in its stream for longer than launch latency."""
        return held_gaps(self.gaps)

    @cached_property
    def gap_before(self) -> RowArray:
        """Row in `gaps` of the gap that each operation ends, or NO_ROW."""
        found = np.full(len(self.operations), NO_ROW, np.int32)
        found[self.gaps.after] = np.arange(len(self.gaps), dtype=np.int32)
        return found

    @cached_property
    def blocked(self) -> BlockedGaps:
        """Idle time caused by calls that held the launching thread back."""
        pageable = pageable_copy_calls(self.operations, self.launch, self.trace.table(Copies))
        rows = holding_calls(self.calls, pageable)
        return blocked_gaps(self.gaps, self.calls, rows, self.windows)

    @cached_property
    def process_of_thread(self) -> npt.NDArray[np.int32]:
        """Index of the process each thread belongs to."""
        return np.array([t.process for t in self.trace.threads], np.int32)

    @cached_property
    def ranges(self) -> RangeTree:
        """NVTX ranges as forests; empty when they were not collected."""
        ranges = self.trace.table(NvtxRanges)
        return RangeTree(ranges if ranges is not None else NvtxRanges.empty(), self.trace.names, self.process_of_thread)

    @cached_property
    def steps(self) -> StepRanges | None:
        """The program's iterations, or None when no NVTX range repeats."""
        return self.ranges.steps()

    @cached_property
    def recompiles(self) -> npt.NDArray[np.bool_]:
        """Calls that load code compiled anew again and again in the steady state."""
        return recompiles(self.calls, self.trace.names, self.windows)

    @property
    def has_graph_runs(self) -> bool:
        """Whole graph executions are in the trace."""
        return bool((self.operations.kind == OperationKind.GRAPH).any())

    @cached_property
    def hides_graphs(self) -> bool:
        """Graphs were launched, but their work is in no table: the device may be busy where it looks idle."""
        if self.trace.capture.graph_trace != "graph" or self.has_graph_runs:
            return False
        return bool((self.calls.kind == CallKind.GRAPH_LAUNCH).any())

    @cached_property
    def windows(self) -> tuple[DeviceWindow, ...]:
        """The accounted window of every device that did anything."""
        return device_windows(self.operations, self._restriction())

    def _restriction(self) -> IntervalSet | None:
        restriction = None
        if self.scope.nvtx is not None:
            restriction = self.ranges.named(self.scope.nvtx, self.trace.names)
        if self.scope.range_ns is not None:
            low, high = self.scope.range_ns
            span = IntervalSet(np.array([low], np.int64), np.array([high], np.int64))
            restriction = span if restriction is None else intersect(restriction, span)
        return restriction

    def launch_thread(self, operation: Int64Array | RowArray) -> npt.NDArray[np.int32]:
        """Thread that launched each operation, or NO_ROW."""
        call = self.launch[operation]
        if not len(self.calls):
            return np.full(len(operation), NO_ROW, np.int32)
        return np.where(call == NO_ROW, np.int32(NO_ROW), picked(self.calls.thread, np.maximum(call, 0)))
