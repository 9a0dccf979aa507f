"""What this machine can capture, and what a trace holds and lacks, as records that a command prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stallscope.capture.machine import Condition, conditions
from stallscope.model import events
from stallscope.model.collection import FLAGS, table_source
from stallscope.model.columns import Table
from stallscope.model.trace import Trace

TableState = Literal["recorded", "empty", "missing", "unknown"]

ANSWERS: Mapping[type[Table], str] = {
    events.Kernels: "kernels",
    events.Copies: "copies",
    events.Migrations: "copies",
    events.Memsets: "memsets",
    events.ApiCalls: "api",
    events.Syncs: "syncs",
    events.EventRecords: "events",
    events.NvtxRanges: "nvtx",
    events.CrossThreadRanges: "nvtx",
    events.GilSpans: "gil",
    events.OsCalls: "osrt",
    events.SchedSpans: "sched",
    events.GpuFaults: "uvm_faults",
    events.CpuFaults: "uvm_faults",
    events.MemoryEvents: "memory_usage",
    events.PoolTrims: "memory_usage",
    events.HostCallbacks: "host_callbacks",
    events.ContextSwitches: "context_switches",
    events.GpuMetrics: "gpu_metrics",
}
"""Key of `CaptureInfo.collected` that answers for an absent table."""


@dataclass(frozen=True, slots=True)
class TableRecord:
    """One kind of event in a trace.

    `source` is the table's name in the export, `rows` its usable rows; `remedy` says how to collect it, and is empty
    when it was collected. `empty` means traced and nothing happened, `unknown` that the file does not tell.
    """

    kind: type[Table]
    source: str
    state: TableState
    rows: int
    remedy: str


def examine_environment(nsys: str | None, ncu: str | None, cache_folder: Path) -> tuple[Condition, ...]:
    """Profilers, driver, GPUs, permissions and disk of this machine. Looks, and never changes anything."""
    return tuple(conditions(nsys, ncu, cache_folder))


def examine_trace(trace: Trace) -> tuple[TableRecord, ...]:
    """Every kind of event a profiler can record: in this trace or not, and the flag that would add it."""
    return tuple(_record(trace, kind, flag) for kind, flag in FLAGS.items())


def _record(trace: Trace, kind: type[Table], flag: str) -> TableRecord:
    table = trace.table(kind)
    source = table_source(trace, kind)
    if table is not None:
        return TableRecord(kind, source, "recorded" if len(table) else "empty", len(table), "")
    if kind is events.GraphRuns:
        return TableRecord(kind, source, "missing" if trace.capture.graph_trace == "graph" else "unknown", 0, flag)
    answer = trace.capture.collected.get(ANSWERS.get(kind, ""), "unknown")
    return TableRecord(kind, source, "unknown" if answer == "unknown" else "missing", 0, flag)
