"""What a run would have taken without a wait: the dependency model, replayed with the wait's cause taken away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.calls import SYNCS, CallKind
from stallscope.timeline.dependencies import DependencyGraph, dependency_graph
from stallscope.timeline.edges import EdgeKind
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import EMPTY, Int64Array, IntervalSet, union
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.replay import ABSTAIN_ERROR, Change, Replayer
from stallscope.timeline.rows import RowArray
from stallscope.timeline.timeline import Timeline
from stallscope.timeline.workload import Charges

# A synchronization that goes leaves the host its own work; an allocator call, a first use or a late launch goes with
# the host time that it took. Ids that are not named here have no counterfactual.
_COPIES = (CallKind.COPY, CallKind.COPY_BLOCKING)
_ALLOCATOR = (
    CallKind.ALLOC,
    CallKind.FREE,
    CallKind.ALLOC_PINNED,
    CallKind.ALLOC_ASYNC,
    CallKind.ALLOC_MAP,
    CallKind.ALLOC_MANAGED,
)
UNBLOCKED: Mapping[str, tuple[CallKind, ...]] = {
    "sync.scalar": (*SYNCS, *_COPIES),
    "sync.stream": (CallKind.SYNC_STREAM,),
    "sync.device": (CallKind.SYNC_DEVICE,),
    "sync.event": (CallKind.SYNC_EVENT,),
}
REMOVED_CALLS: Mapping[str, tuple[CallKind, ...]] = {
    "alloc.sync": _ALLOCATOR,
    "alloc.retry": _ALLOCATOR,
    "alloc.pool_trim": (*_ALLOCATOR, *SYNCS),
    "alloc.pinned": _ALLOCATOR,
    "alloc.map": _ALLOCATOR,
    "init.context": tuple(CallKind),
    "init.lazy_load": tuple(CallKind),
    "init.jit": tuple(CallKind),
    "init.graph": tuple(CallKind),
    "copy.blocking": _COPIES,
}
REMOVED_HOST_TIME = ("launch.gap", "host.busy", "host.blocked", "host.gil", "input.wait", "uvm.fault_cpu")
SHORTER_OPERATIONS: Mapping[str, tuple[OperationKind, ...]] = {
    "copy.pageable": (OperationKind.COPY,),
    "copy.exposed": (OperationKind.COPY,),
    "offload.exposed": (OperationKind.COPY,),
    "alloc.relocate": (OperationKind.COPY, OperationKind.COMPUTE),
    "comm.exposed": (OperationKind.COMMUNICATION,),
    "comm.peer_wait": (OperationKind.COMMUNICATION,),
    "comm.interference": (OperationKind.COMPUTE,),
    "fence.interference": (OperationKind.COMPUTE,),
    "link.zero_copy": (OperationKind.COMPUTE,),
    "uvm.fault_gpu": (OperationKind.COMPUTE,),
    "uvm.thrash": (OperationKind.COMPUTE,),
    "uvm.evict": (OperationKind.COMPUTE,),
}
STAGED_COPIES = ("copy.pageable",)
"""The host copies through a staging buffer inside these calls; pinned memory frees it at once."""

DROPPED_EDGES: Mapping[str, tuple[EdgeKind, ...]] = {
    "dep.default_stream": (EdgeKind.LEGACY_STREAM,),
    "dep.stream_wait": (EdgeKind.EVENT,),
}


def has_counterfactual(wait: str) -> bool:
    """Whether the model knows what goes away with the wait."""
    return (
        wait in UNBLOCKED
        or wait in REMOVED_CALLS
        or wait in REMOVED_HOST_TIME
        or wait in SHORTER_OPERATIONS
        or wait in DROPPED_EDGES
    )


@dataclass(frozen=True)
class Counterfactuals:
    """Gains of one timeline, by replay. `charges` is what the ledger charged to which id when."""

    timeline: Timeline
    charges: Charges

    @cached_property
    def graph(self) -> DependencyGraph:
        """The dependency model."""
        return dependency_graph(self.timeline)

    @cached_property
    def baseline(self) -> Int64Array:
        """End of every node in a replay with nothing taken away."""
        return self._replayer.ends()

    @cached_property
    def _replayer(self) -> Replayer:
        return Replayer(self.graph)

    @cached_property
    def error(self) -> float:
        """Largest relative miss of a device's measured window by the baseline replay."""
        measured, modelled = self._spans(self.graph.measured_end_ns), self._spans(self.baseline)
        return max((abs(modelled[d] - ns) / ns for d, ns in measured.items() if ns), default=0.0)

    @property
    def explains(self) -> bool:
        """The model gives the measured time back closely enough to be asked anything."""
        return self.error <= ABSTAIN_ERROR

    def knows(self, wait: str) -> bool:
        """What goes away with the wait is in the model: edges that no record shows cannot be dropped from it."""
        kinds = DROPPED_EDGES.get(wait)
        return has_counterfactual(wait) and (kinds is None or bool(np.isin(self.graph.edges.kind, kinds).any()))

    def gain_ns(self, waits: Iterable[str]) -> int:
        """Device time saved, summed over devices, when all the waits go together; they do not add up."""
        changed = self._replayer.ends(self._change(tuple(waits)))
        before, after = self._spans(self.baseline), self._spans(changed)
        return sum(max(before[device] - after[device], 0) for device in before)

    def _spans(self, ends: Int64Array) -> dict[int, int]:
        """Window of every device: first start to last end of its operations. The beginning is the measured one."""
        return {
            window.device: int(ends[self._nodes_of_device[window.device]].max()) - int(window.busy.starts[0])
            for window in self.timeline.windows
        }

    @cached_property
    def _nodes_of_device(self) -> dict[int, Int64Array]:
        """Nodes of each device's operations."""
        node = self.graph.node_of_operation(len(self.timeline.operations))
        return {window.device: node[window.first : window.after] for window in self.timeline.windows}

    def _change(self, waits: tuple[str, ...]) -> Change:
        host: dict[int, IntervalSet] = {}
        unblocked = np.zeros(len(self.graph), np.bool_)
        shorter = np.zeros(len(self.graph), np.int64)
        dropped: list[EdgeKind] = []
        for wait in waits:
            if wait in UNBLOCKED or wait in REMOVED_CALLS:
                calls = self._blamed_calls(wait)
                unblocked |= np.isin(self.graph.call, calls)
                if wait in REMOVED_CALLS:
                    _add(host, self._host_time_of_calls(calls))
            if wait in REMOVED_CALLS or wait in REMOVED_HOST_TIME:
                _add(host, self._host_time_of_gaps(wait))
            shorter = np.maximum(shorter, self._shortened(wait))
            if wait in STAGED_COPIES:
                _add(host, self._host_time_of_calls(self._calls_of(shorter)))
            dropped += DROPPED_EDGES.get(wait, ())
        return Change(host=host, shorter_ns=shorter, unblocked=unblocked, dropped=tuple(dropped))

    def _charged(self, device: int, wait: str) -> IntervalSet:
        return self.charges.get(device, {}).get(wait, EMPTY)

    def _calls_of(self, shorter: Int64Array) -> RowArray:
        """Launch calls of the shortened operations."""
        launch = self.timeline.launch[self.graph.operation[shorter > 0]]
        return np.unique(launch[launch != NO_ROW])

    def _blamed_calls(self, wait: str) -> RowArray:
        """Calls of the wait's kinds that the charged gaps are blamed on."""
        blocked, gaps = self.timeline.blocked, self.timeline.gaps
        kinds = UNBLOCKED.get(wait) or REMOVED_CALLS[wait]
        found = [np.empty(0, np.int32)]
        for window in self.timeline.windows:
            rows = np.flatnonzero(gaps.at(Gaps.device, blocked.gap) == window.device)
            charged = self._charged(window.device, wait).covered(blocked.start_ns[rows], blocked.end_ns[rows])
            found.append(blocked.call[rows[charged > 0]])
        calls = np.unique(np.concatenate(found))
        return calls[np.isin(self.timeline.calls.kind[calls], kinds)]

    def _host_time_of_calls(self, rows: RowArray) -> dict[int, IntervalSet]:
        calls = self.timeline.calls
        return self._by_chain(calls.thread[rows], calls.start_ns[rows], calls.end_ns[rows])

    def _host_time_of_gaps(self, wait: str) -> dict[int, IntervalSet]:
        """The charged part of every gap, on the chain of the thread that ended the gap."""
        gaps = self.timeline.gaps
        threads, starts, ends = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for window in self.timeline.windows:
            charged = self._charged(window.device, wait)
            rows = np.flatnonzero((gaps.read("device") == window.device) & (gaps.thread != NO_ROW))
            gap = np.searchsorted(gaps.at(Gaps.start_ns, rows), charged.starts, side="right") - 1
            inside = gap >= 0
            inside[inside] &= gaps.at(Gaps.end_ns, rows[gap[inside]]) > charged.starts[inside]
            threads.append(gaps.thread[rows[gap[inside]]])
            starts.append(charged.starts[inside])
            ends.append(charged.ends[inside])
        return self._by_chain(np.concatenate(threads), np.concatenate(starts), np.concatenate(ends))

    def _by_chain(self, threads: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array) -> dict[int, IntervalSet]:
        chain = self.graph.chain_of_thread[threads]
        return {int(c): union(starts[chain == c], ends[chain == c]) for c in np.unique(chain)}

    def _shortened(self, wait: str) -> Int64Array:
        """Charged time inside each operation of the kinds that the wait slows down."""
        shorter = np.zeros(len(self.graph), np.int64)
        kinds = SHORTER_OPERATIONS.get(wait)
        if kinds is None:
            return shorter
        operations = self.timeline.operations
        nodes = np.flatnonzero(self.graph.operation != NO_ROW)
        rows = self.graph.operation[nodes]
        for window in self.timeline.windows:
            mine = (operations.device[rows] == window.device) & np.isin(operations.kind[rows], kinds)
            charged = self._charged(window.device, wait)
            shorter[nodes[mine]] = charged.covered(operations.start_ns[rows[mine]], operations.end_ns[rows[mine]])
        return shorter


def _add(total: dict[int, IntervalSet], more: Mapping[int, IntervalSet]) -> None:
    for chain, free in more.items():
        had = total.get(chain, EMPTY)
        total[chain] = union(np.concatenate((had.starts, free.starts)), np.concatenate((had.ends, free.ends)))
