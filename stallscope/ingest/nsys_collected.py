"""Three answers for every kind of event: collected (perhaps empty), not collected, unknown. Absent is not empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from stallscope.ingest.export_codes import Codes
from stallscope.ingest.nsys_capture import ExportInfo, Requested
from stallscope.ingest.nsys_registry import Registry
from stallscope.model import events
from stallscope.model.columns import Table
from stallscope.model.trace import Collected

Tables = dict[type[Table], Table]
GraphTrace = Literal["node", "graph", "none", "unknown"]

_GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch")
_EVENT_RECORDS = ("cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "cuEventRecordWithFlags")
_FIRST_WITH_CALLBACKS = (2025, 6)


@dataclass(frozen=True)
class Evidence:
    """All that decides whether an event kind was traced."""

    tables: Tables
    registry: Registry
    info: ExportInfo
    requested: Requested

    def rows(self, kind: type[Table]) -> int:
        """Rows read; 0 for an absent table."""
        table = self.tables.get(kind)
        return 0 if table is None else len(table)

    def cuda(self) -> Collected:
        """Whether CUDA events were traced; a request that brought no row at all stays unknown."""
        kinds = (events.Kernels, events.Copies, events.Migrations, events.Memsets, events.ApiCalls, events.Syncs)
        if any(self.rows(kind) for kind in (*kinds, events.GraphRuns)):
            return "yes"
        return "no" if self.requested.trace("Cuda") is False else "unknown"

    def of(self, kind: type[Table], asked: Collected) -> Collected:
        """Answer for one table, given whether its trace was asked for and worked."""
        if self.rows(kind):
            return "yes"
        if self.info.partial or (kind in self.tables and not self.info.lazy):
            return asked if asked != "yes" or kind in self.tables else "unknown"
        return "yes" if kind in self.tables and asked != "no" else asked

    @cached_property
    def names_called(self) -> frozenset[int]:
        """Names of the CUDA calls that were made."""
        calls = self.tables.get(events.ApiCalls)
        if calls is None:
            return frozenset()
        return frozenset(Codes(calls.read("name"), range(len(self.registry.names.names()))).in_order())

    @cached_property
    def answers(self) -> dict[type[Table], Collected]:
        """The answer for every table of the model."""
        return {kind: self.of(kind, asked(self)) for kind, asked in _ASKED.items()}

    @cached_property
    def graph_trace(self) -> GraphTrace:
        """How CUDA graphs were traced: node by node, as a whole, or none was launched."""
        if self.rows(events.GraphRuns):
            return "graph"
        launches = self.called(_GRAPH_LAUNCHES)
        if self.rows(events.Kernels) and _node_kernels(self, launches):
            return "node"
        if launches:
            return "graph"
        return "none" if self.rows(events.ApiCalls) else "unknown"

    def called(self, names: Iterable[str]) -> frozenset[int]:
        """Those of these CUDA calls that were made."""
        return self.names_called.intersection(self.registry.names.known(name) for name in names)


def _flag(evidence: Evidence, name: str) -> Collected:
    asked = evidence.requested.flag(name)
    if asked is None:
        return "no" if evidence.requested.known else "unknown"
    return evidence.cuda() if asked else "no"


def _trace(evidence: Evidence, name: str) -> Collected:
    asked = evidence.requested.trace(name)
    return "unknown" if asked is None else "yes" if asked else "no"


def _cuda(evidence: Evidence) -> Collected:
    return evidence.cuda()


def _api(evidence: Evidence) -> Collected:
    """A CUDA trace always holds calls: kernels without one mean that the calls were left out of this file."""
    bare = evidence.rows(events.Kernels) and not evidence.rows(events.ApiCalls)
    return "no" if bare else evidence.cuda()


def _event_records(evidence: Evidence) -> Collected:
    """Recording needs its own switch in newer versions, but nothing is missing where no event was recorded."""
    recorded = evidence.called(_EVENT_RECORDS)
    return "no" if recorded else evidence.cuda() if evidence.rows(events.ApiCalls) else "unknown"


def _graph_runs(evidence: Evidence) -> Collected:
    mode = evidence.graph_trace
    return "no" if mode == "graph" else "unknown" if mode == "unknown" else "yes"


def _pool_trims(evidence: Evidence) -> Collected:
    """One switch collects allocations and pool operations."""
    return "yes" if evidence.rows(events.MemoryEvents) else _flag(evidence, "COLLECT_GPU_MEMORY_USAGE")


def _host_callbacks(evidence: Evidence) -> Collected:
    return evidence.cuda() if evidence.info.version >= _FIRST_WITH_CALLBACKS else "no"


def _by_content(evidence: Evidence) -> Collected:
    return "no" if evidence.requested.known else "unknown"


_ASKED: Mapping[type[Table], Callable[[Evidence], Collected]] = {
    events.Kernels: _cuda,
    events.Copies: _cuda,
    events.Migrations: _cuda,
    events.Memsets: _cuda,
    events.ApiCalls: _api,
    events.Syncs: _cuda,
    events.Overheads: _cuda,
    events.Streams: lambda _: "unknown",
    events.EventRecords: _event_records,
    events.GraphRuns: _graph_runs,
    events.HostCallbacks: _host_callbacks,
    events.NvtxRanges: lambda e: _trace(e, "NvtxEvents"),
    events.CrossThreadRanges: lambda e: _trace(e, "NvtxEvents"),
    events.GilSpans: _by_content,
    events.OsCalls: lambda e: _trace(e, "OSRuntime"),
    events.SchedSpans: _by_content,
    events.GpuFaults: lambda e: _flag(e, "COLLECT_UVM_GPU_PAGE_FAULTS"),
    events.CpuFaults: lambda e: _flag(e, "COLLECT_UVM_CPU_PAGE_FAULTS"),
    events.MemoryEvents: lambda e: _flag(e, "COLLECT_GPU_MEMORY_USAGE"),
    events.PoolTrims: _pool_trims,
    events.ContextSwitches: _by_content,
    events.GpuMetrics: _by_content,
}

_KEYS: Mapping[str, tuple[type[Table], ...]] = {
    "kernels": (events.Kernels,),
    "api": (events.ApiCalls,),
    "copies": (events.Copies,),
    "memsets": (events.Memsets,),
    "syncs": (events.Syncs,),
    "events": (events.EventRecords,),
    "nvtx": (events.NvtxRanges,),
    "gil": (events.GilSpans,),
    "osrt": (events.OsCalls,),
    "sched": (events.SchedSpans,),
    "memory_usage": (events.MemoryEvents,),
    "uvm_faults": (events.GpuFaults, events.CpuFaults),
    "host_callbacks": (events.HostCallbacks,),
    "context_switches": (events.ContextSwitches,),
    "gpu_metrics": (events.GpuMetrics,),
}


def by_key(found: Mapping[type[Table], Collected]) -> dict[str, Collected]:
    """The answers under the keys of the report; one table of several suffices."""
    order: tuple[Collected, ...] = ("yes", "unknown", "no")
    return {key: min((found[kind] for kind in kinds), key=order.index) for key, kinds in _KEYS.items()}


def _node_kernels(evidence: Evidence, launches: frozenset[int]) -> bool:
    kernels = evidence.tables[events.Kernels]
    if kernels.read("graph_node").any():
        return True
    if not launches:
        return False
    calls = evidence.tables[events.ApiCalls]
    made = np.isin(calls.read("name"), list(launches)) & (calls.read("correlation") != 0)
    launched, correlation = calls.read("process")[made], calls.read("correlation")[made]
    processes, wanted = kernels.read("process"), kernels.read("correlation")
    return any(
        bool(np.isin(wanted[processes == process], correlation[launched == process]).any())
        for process in np.unique(launched)
    )
