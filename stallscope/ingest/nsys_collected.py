"""Three answers for every kind of event: collected (perhaps empty), not collected, unknown. Absent is not empty."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from stallscope.ingest.nsys_capture import ExportInfo, Requested
from stallscope.ingest.nsys_registry import Registry
from stallscope.model import events
from stallscope.model.columns import Table
from stallscope.model.trace import Collected

Frames = dict[type[Table], pl.DataFrame]
GraphTrace = Literal["node", "graph", "none", "unknown"]

_GRAPH_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch")
_EVENT_RECORDS = ("cudaEventRecord", "cudaEventRecordWithFlags", "cuEventRecord", "cuEventRecordWithFlags")
_FIRST_WITH_CALLBACKS = (2025, 6)


@dataclass(frozen=True)
class Evidence:
    """All that decides whether an event kind was traced."""

    frames: Frames
    registry: Registry
    info: ExportInfo
    requested: Requested

    def rows(self, kind: type[Table]) -> int:
        """Rows read; 0 for an absent table."""
        frame = self.frames.get(kind)
        return 0 if frame is None else frame.height

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
        if self.info.partial or (kind in self.frames and not self.info.lazy):
            return asked if asked != "yes" or kind in self.frames else "unknown"
        return "yes" if kind in self.frames and asked != "no" else asked

    def called(self, names: Iterable[str]) -> bool:
        """Whether one of these CUDA calls was made."""
        return bool(self.calls(names).any())

    def calls(self, names: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Rows of the API table that are one of these calls."""
        frame = self.frames.get(events.ApiCalls)
        if frame is None:
            return np.zeros(0, np.bool_)
        wanted = [self.registry.names.known(name) for name in names]
        return np.isin(frame.get_column("name").to_numpy(), [i for i in wanted if i is not None])


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
    mode = graph_trace(evidence)
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


def answers(evidence: Evidence) -> dict[type[Table], Collected]:
    """The answer for every table of the model."""
    return {kind: evidence.of(kind, asked(evidence)) for kind, asked in _ASKED.items()}


def by_key(found: Mapping[type[Table], Collected]) -> dict[str, Collected]:
    """The answers under the keys of the report; one table of several suffices."""
    order: tuple[Collected, ...] = ("yes", "unknown", "no")
    return {key: min((found[kind] for kind in kinds), key=order.index) for key, kinds in _KEYS.items()}


def graph_trace(evidence: Evidence) -> GraphTrace:
    """How CUDA graphs were traced: node by node, as a whole, or none was launched."""
    if evidence.rows(events.GraphRuns):
        return "graph"
    launches = evidence.calls(_GRAPH_LAUNCHES)
    kernels = evidence.frames.get(events.Kernels)
    if kernels is not None and _node_kernels(evidence, kernels, launches):
        return "node"
    if launches.any():
        return "graph"
    return "none" if evidence.rows(events.ApiCalls) else "unknown"


def _node_kernels(
    evidence: Evidence, kernels: pl.DataFrame, launches: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> bool:
    if (kernels.get_column("graph_node") != 0).any():
        return True
    if not launches.any():
        return False
    calls = evidence.frames[events.ApiCalls].filter(pl.Series(launches)).select("process", "correlation")
    return kernels.join(calls.filter(pl.col("correlation") != 0), on=["process", "correlation"], how="semi").height > 0
