"""PyTorch profiler traces (Kineto, CUDA and ROCm) as the tables that every rule reads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from stallscope.ingest.kineto_header import base_time_ns, cuda_driver_version, devices_of, source_of
from stallscope.ingest.kineto_names import Category
from stallscope.ingest.kineto_repair import Repairs
from stallscope.ingest.kineto_rows import Rows
from stallscope.ingest.kineto_stream import CHUNK_BYTES, EventStream
from stallscope.ingest.kineto_tables import TableBuilder
from stallscope.model.analysis import CaptureNote
from stallscope.model.columns import Table
from stallscope.model.events import ApiCalls, Collectives, Copies, Kernels, Memsets, NvtxRanges, Syncs
from stallscope.model.names import Names
from stallscope.model.trace import CaptureInfo, Collected, Trace

DATA_QUALITY = "env.data_quality"
NO_GPU_ACTIVITY = "env.no_gpu_activity"
DROPPED_EVENTS = "env.dropped_events"
GRAPH_LEVEL = "env.graph_level_trace"

GraphTrace = Literal["node", "graph", "none"]


def read_kineto(path: Path, *, chunk_bytes: int = CHUNK_BYTES) -> Trace:
    """Read a trace of `torch.profiler`, plain or gzip, in memory bounded by its tables and one piece of text.

    Times are nanoseconds since the trace's first event. User annotations, operators and the program's own Python frames
    become NVTX ranges (domains: the default one, `operator`, `python`). What the profiler cannot record (unified-memory
    faults, OS calls, scheduling, driver allocations) stays uncollected. Raises `InputError` for execution traces, other
    accelerators, archives, and JSON that is broken, with line and column.
    """
    stream = EventStream(path, chunk_bytes=chunk_bytes)
    rows = Rows(stream.name)
    for events in stream.batches():
        rows.add(events)
    builder = TableBuilder(rows)
    tables = builder.tables()
    graph_trace = _graph_trace(tables, builder)
    return Trace(
        source=source_of(stream.name, stream.sha256, stream.header),
        devices=devices_of(stream.header, builder.device_ids),
        processes=builder.processes,
        threads=builder.threads,
        names=Names(builder.names.texts()),
        capture=CaptureInfo(
            collected=_collected(tables),
            graph_trace=graph_trace,
            notes=tuple(_notes(rows, stream.repairs, tables, graph_trace)),
            cuda_driver_version=cuda_driver_version(stream.header),
        ),
        tables=tables,
        origin_ns=builder.origin_ns + base_time_ns(stream.header),
    )


_RECORDED: dict[str, type[Table]] = {
    "kernels": Kernels,
    "copies": Copies,
    "memsets": Memsets,
    "api": ApiCalls,
    "syncs": Syncs,
    "nvtx": NvtxRanges,
    "nccl": Collectives,
}
_NEVER = ("osrt", "sched", "gil", "memory_usage", "uvm_faults", "gpu_metrics")
"""What the PyTorch profiler cannot record."""


def _collected(tables: dict[type[Table], Table]) -> dict[str, Collected]:
    found: dict[str, Collected] = {key: "yes" if kind in tables else "no" for key, kind in _RECORDED.items()}
    return found | dict.fromkeys(_NEVER, "no")


def _graph_trace(tables: dict[type[Table], Table], builder: TableBuilder) -> GraphTrace:
    """The profiler records the kernels of a replay; where replays left none, they are invisible."""
    calls = tables.get(ApiCalls)
    if not isinstance(calls, ApiCalls) or Kernels not in tables:
        return "none"
    launches = Names(builder.names.texts()).matching(r"GraphLaunch$")[calls.name]
    asked = calls.correlation[launches]
    work = [t.correlation for kind in (Kernels, Copies, Memsets) if isinstance(t := tables[kind], kind)]
    seen = np.isin(asked, np.concatenate(work))
    return "graph" if len(asked) and seen.sum() * 2 < len(asked) else "node"


def _notes(
    rows: Rows, repairs: Repairs, tables: dict[type[Table], Table], graph_trace: GraphTrace
) -> list[CaptureNote]:
    notes = []
    lost = sum(rows.dropped[c.value] for c in (Category.KERNEL, Category.COPY, Category.MEMSET))
    if lost:
        message = f"{lost} device events have no usable time (the profiler lost it) and were left out"
        notes.append(CaptureNote(id=DROPPED_EVENTS, message=message))
    others = sum(rows.dropped.values()) - lost
    for count, what in (
        (others, "host events without a usable time were left out"),
        (rows.kept_empty, "device events of length 0 count as launches but not as time"),
        (repairs.encodings, "byte sequences that are not UTF-8 were replaced"),
        (repairs.controls, "control characters inside strings were replaced"),
        (repairs.numbers, "numbers that JSON does not allow (nan, inf) were read as absent"),
        (repairs.events, "events of an unknown form were left out"),
    ):
        if count:
            notes.append(CaptureNote(id=DATA_QUALITY, message=f"{count} {what}"))
    if graph_trace == "graph":
        message = "graph replays left no kernels in this trace, so idle time may be graph work: profile with nsys"
        notes.append(CaptureNote(id=GRAPH_LEVEL, message=message))
    if Kernels not in tables:
        message = "the trace holds no GPU work: profile with ProfilerActivity.CUDA, and check that CUPTI could start"
        notes.append(CaptureNote(id=NO_GPU_ACTIVITY, message=message))
    return notes
