"""An Nsight Systems export → a `Trace`: every table that was collected, ids made dense, devices made physical."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from stallscope.ingest import nsys_capture, nsys_device_tables, nsys_host_tables, nsys_nvtx
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_devices import place
from stallscope.ingest.nsys_registry import UNKNOWN_PROCESS, Registry, pid_of, tid_of
from stallscope.ingest.nsys_rows import latest
from stallscope.ingest.nsys_source import ExportSource
from stallscope.model import events
from stallscope.model.analysis import Source
from stallscope.model.columns import Table
from stallscope.model.trace import CaptureInfo, Process, Thread, Trace

Frames = dict[type[Table], pl.DataFrame]

_ONE_TABLE: tuple[tuple[type[Table], tuple[str, ...], Callable[[Registry, str], pl.DataFrame]], ...] = (
    (events.Kernels, schema.KERNELS, nsys_device_tables.kernels),
    (events.Memsets, schema.MEMSETS, nsys_device_tables.memsets),
    (events.GraphRuns, schema.GRAPH_RUNS, nsys_device_tables.graph_runs),
    (events.Syncs, schema.SYNCS, nsys_device_tables.syncs),
    (events.EventRecords, schema.EVENT_RECORDS, nsys_device_tables.event_records),
    (events.HostCallbacks, schema.HOST_CALLBACKS, nsys_device_tables.host_callbacks),
    (events.GpuFaults, schema.GPU_FAULTS, nsys_device_tables.gpu_faults),
    (events.CpuFaults, schema.CPU_FAULTS, nsys_device_tables.cpu_faults),
    (events.MemoryEvents, schema.MEMORY_EVENTS, nsys_device_tables.memory_events),
    (events.PoolTrims, schema.POOL_EVENTS, nsys_device_tables.pool_trims),
    (events.OsCalls, schema.OS_CALLS, nsys_host_tables.os_calls),
    (events.SchedSpans, schema.SCHEDULING, nsys_host_tables.scheduled_out),
)


def read_trace(source: ExportSource, origin: Source) -> Trace:
    """Read every table of the export. `origin` names the input; producer and schema are filled in here."""
    info = nsys_capture.export_info(source)
    registry = Registry(source, clock_shifted=info.clock_shifted)
    frames = _frames(registry)
    processes = _process_map(registry)
    placement = place(registry, _device_pairs(registry, processes))
    tables = {kind: kind(_final(frame, processes, placement.index)) for kind, frame in frames.items()}
    keys = _process_keys(registry, processes)
    return Trace(
        source=Source(
            name=origin.name,
            sha256=origin.sha256,
            format=origin.format,
            producer=info.product,
            schema=info.schema_version,
        ),
        devices=placement.devices,
        processes=tuple(Process(pid_of(key)) for key in keys),
        threads=tuple(
            Thread(int(processes[registry.processes.known[key & ~0xFFFFFF]]), tid_of(key))
            for key in registry.threads.known
        ),
        names=registry.names.names(),
        capture=CaptureInfo(),
        tables=tables,
    )


def _frames(registry: Registry) -> Frames:
    frames: Frames = {}
    for kind, wanted, read in _ONE_TABLE:
        table = registry.table(wanted)
        if table is not None:
            frames[kind] = read(registry, table)
    copies = registry.table(schema.COPIES)
    if copies is not None:
        frames[events.Copies], frames[events.Migrations] = nsys_device_tables.copies(registry, copies)
    calls = [t for t in (registry.table(schema.API_CALLS), registry.table(schema.DRIVER_CALLS)) if t is not None]
    if calls:
        frames[events.ApiCalls] = nsys_host_tables.api_calls(registry, calls)
    _add_overheads(registry, frames)
    _add_nvtx(registry, frames)
    streams = nsys_device_tables.streams(registry)
    if streams is not None:
        frames[events.Streams] = streams
    return frames


def _add_overheads(registry: Registry, frames: Frames) -> None:
    defaults = (
        (schema.PROFILER_OVERHEADS, events.OverheadKind.PROFILER),
        (schema.OVERHEADS, None),
        (schema.JIT, events.OverheadKind.JIT),
    )
    found = {registry.table(wanted): default for wanted, default in defaults}
    tables = {table: default for table, default in found.items() if table is not None}
    if tables:
        frames[events.Overheads] = nsys_host_tables.overheads(registry, tables)


def _add_nvtx(registry: Registry, frames: Frames) -> None:
    table = registry.table(schema.NVTX)
    if table is None:
        return
    ends = [latest(f.get_column("end_ns")) for f in frames.values() if "end_ns" in f.columns]
    found = nsys_nvtx.nvtx(registry, table, max(ends, default=0))
    frames[events.NvtxRanges], frames[events.CrossThreadRanges] = found.ranges, found.cross_thread
    if found.gil is not None:
        frames[events.GilSpans] = found.gil


def _process_map(registry: Registry) -> npt.NDArray[np.int32]:
    """Final index of each provisional process: rows without a process belong to the only process there is."""
    known = registry.processes.known
    final = np.arange(len(known), dtype=np.int32)
    if UNKNOWN_PROCESS in known and len(known) == 2:
        final[:] = 0
    return final


def _process_keys(registry: Registry, processes: npt.NDArray[np.int32]) -> list[int]:
    keys = list(registry.processes.known)
    if len(keys) == 2 and int(processes.max()) == 0:
        return [key for key in keys if key != UNKNOWN_PROCESS]
    return keys


def _device_pairs(registry: Registry, processes: npt.NDArray[np.int32]) -> list[tuple[int, int]]:
    keys = _process_keys(registry, processes)
    return [(keys[int(processes[pair >> 32])], pair & 0xFFFFFFFF) for pair in registry.devices.known]


def _final(frame: pl.DataFrame, processes: npt.NDArray[np.int32], devices: tuple[int, ...]) -> pl.DataFrame:
    changed = []
    if "process" in frame.columns:
        changed.append(pl.Series("process", processes[frame.get_column("process").to_numpy()]))
    if "device" in frame.columns:
        lookup = np.asarray(devices or (0,), np.int32)
        changed.append(pl.Series("device", lookup[frame.get_column("device").to_numpy()]))
    return frame.with_columns(changed)
