"""An Nsight Systems export → a `Trace`: every table that was collected, ids made dense, devices made physical."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from stallscope.ingest import nsys_capture, nsys_collected, nsys_notes, nsys_streams
from stallscope.ingest import nsys_device_tables as device_tables
from stallscope.ingest import nsys_gpu_tables as gpu_tables
from stallscope.ingest import nsys_host_tables as host_tables
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_collected import Evidence, Tables
from stallscope.ingest.nsys_devices import Placement, place
from stallscope.ingest.nsys_nvtx import RANGES, nvtx
from stallscope.ingest.nsys_registry import UNKNOWN_PROCESS, Registry, pid_of, tid_of
from stallscope.ingest.nsys_rows import latest
from stallscope.ingest.nsys_source import ExportSource
from stallscope.ingest.nsys_sync_kinds import with_kinds_of_calls
from stallscope.ingest.progress import Progress, silent
from stallscope.model import events
from stallscope.model.analysis import CaptureNote, Source
from stallscope.model.columns import Table
from stallscope.model.trace import CaptureInfo, Process, Thread, Trace

Reader = Callable[[Registry, str], Table]

_ONE_TABLE: tuple[tuple[type[Table], tuple[str, ...], Reader], ...] = (
    (events.Kernels, schema.KERNELS, device_tables.kernels),
    (events.Memsets, schema.MEMSETS, device_tables.memsets),
    (events.GraphRuns, schema.GRAPH_RUNS, device_tables.graph_runs),
    (events.EventRecords, schema.EVENT_RECORDS, device_tables.event_records),
    (events.HostCallbacks, schema.HOST_CALLBACKS, device_tables.host_callbacks),
    (events.GpuFaults, schema.GPU_FAULTS, device_tables.gpu_faults),
    (events.CpuFaults, schema.CPU_FAULTS, device_tables.cpu_faults),
    (events.MemoryEvents, schema.MEMORY_EVENTS, device_tables.memory_events),
    (events.PoolTrims, schema.POOL_EVENTS, device_tables.pool_trims),
    (events.OsCalls, schema.OS_CALLS, host_tables.os_calls),
    (events.SchedSpans, schema.SCHEDULING, host_tables.scheduled_out),
)

_DEVICE_WORK = (events.Kernels, events.Copies, events.Memsets, events.GraphRuns)
_PLACED = (events.GpuMetrics, events.ContextSwitches)
_PROCESS_BITS = -1 << 24


def read_trace(source: ExportSource, origin: Source, progress: Progress = silent) -> Trace:
    """Read every table of the export. `origin` names the input; producer and schema are filled in here."""
    info = nsys_capture.export_info(source)
    registry = Registry(source, clock_shifted=info.clock_shifted, progress=progress)
    tables = _read(registry)
    traced = len(registry.processes.known)
    placement = place(registry, _Processes.of(registry, traced).device_pairs(registry))
    _add_gpu_tables(registry, tables, placement)
    processes = _Processes.of(registry, traced)
    evidence = Evidence(tables, registry, info, nsys_capture.requested(source))
    capture = _capture(evidence, placement)
    return Trace(
        source=Source(
            name=origin.name,
            sha256=origin.sha256,
            format=origin.format,
            producer=info.product,
            schema=info.schema_version,
        ),
        devices=placement.devices,
        processes=tuple(Process(pid_of(key)) for key in processes.keys),
        threads=tuple(Thread(processes.index_of(registry, key), tid_of(key)) for key in registry.threads.known),
        names=registry.names.names(),
        capture=capture,
        tables=_tables(evidence, processes, placement),
        origin_ns=nsys_capture.origin_ns(source, info),
    )


def _read(registry: Registry) -> Tables:
    tables: Tables = {}
    registry.announce(schema.API_CALLS, host_tables.API_CALLS)
    registry.announce(schema.NVTX, RANGES)
    for kind, wanted, read in _ONE_TABLE:
        table = registry.table(wanted)
        if table is not None:
            tables[kind] = read(registry, table)
    copies = registry.table(schema.COPIES)
    if copies is not None:
        tables[events.Copies], tables[events.Migrations] = device_tables.copies(registry, copies)
    _add_calls(registry, tables)
    _add_overheads(registry, tables)
    _add_nvtx(registry, tables)
    streams = nsys_streams.streams(registry)
    if streams is not None:
        tables[events.Streams] = streams
    return tables


def _add_calls(registry: Registry, tables: Tables) -> None:
    table, syncs = registry.table(schema.SYNCS), None
    if table is not None:
        syncs = tables[events.Syncs] = device_tables.syncs(registry, table)
    found = [t for t in (registry.table(schema.API_CALLS), registry.table(schema.DRIVER_CALLS)) if t is not None]
    if found:
        calls = tables[events.ApiCalls] = host_tables.api_calls(registry, found)
        if syncs is not None:
            tables[events.Syncs] = with_kinds_of_calls(syncs, calls, registry.names.names())


def _add_overheads(registry: Registry, tables: Tables) -> None:
    defaults = (
        (schema.PROFILER_OVERHEADS, events.OverheadKind.PROFILER),
        (schema.OVERHEADS, None),
        (schema.JIT, events.OverheadKind.JIT),
    )
    found = {registry.table(wanted): default for wanted, default in defaults}
    present = {table: default for table, default in found.items() if table is not None}
    if present:
        tables[events.Overheads] = host_tables.overheads(registry, present)


def _add_nvtx(registry: Registry, tables: Tables) -> None:
    table = registry.table(schema.NVTX)
    if table is None:
        return
    ends = [latest(spans.end_ns) for spans in tables.values() if isinstance(spans, events.Span)]
    found = nvtx(registry, table, max(ends, default=0))
    tables[events.NvtxRanges], tables[events.CrossThreadRanges] = found.ranges, found.cross_thread
    if found.gil is not None:
        tables[events.GilSpans] = found.gil


def _add_gpu_tables(registry: Registry, tables: Tables, placement: Placement) -> None:
    device_of = {gpu_id: i for i, gpu_id in enumerate(placement.ids) if gpu_id is not None}
    metrics, switches = registry.table(schema.GPU_METRICS), registry.table(schema.CONTEXT_SWITCHES)
    if metrics is not None:
        tables[events.GpuMetrics] = gpu_tables.gpu_metrics(registry, metrics, device_of)
    if switches is not None:
        tables[events.ContextSwitches] = gpu_tables.context_switches(registry, switches, device_of)


def _capture(evidence: Evidence, placement: Placement) -> CaptureInfo:
    source = evidence.registry.source
    driver, cuda_driver = nsys_capture.driver_versions(source)
    return CaptureInfo(
        collected=nsys_collected.by_key(evidence.answers),
        graph_trace=evidence.graph_trace,
        notes=_notes(evidence, placement),
        driver_version=driver,
        cuda_driver_version=cuda_driver,
    )


def _notes(evidence: Evidence, placement: Placement) -> tuple[CaptureNote, ...]:
    said = nsys_capture.diagnostics(evidence.registry.source)
    worked = any(evidence.rows(kind) for kind in _DEVICE_WORK)
    hidden = evidence.graph_trace == "graph" and not evidence.rows(events.GraphRuns)
    answers = nsys_collected.by_key(evidence.answers)
    ranges = evidence.rows(events.NvtxRanges) + evidence.rows(events.CrossThreadRanges)
    return tuple(
        chain(
            nsys_notes.no_gpu_activity(evidence.cuda(), worked, said),
            nsys_notes.graph_level(hidden),
            nsys_notes.dropped_events(said),
            nsys_notes.data_quality(evidence.registry.quality),
            nsys_notes.partial_capture(evidence.info),
            nsys_notes.shared_device_numbers(placement.guessed),
            nsys_notes.no_ranges(answers, ranges) if worked else (),
            nsys_notes.newer_schema(evidence.info),
        )
    )


def _tables(evidence: Evidence, processes: _Processes, placement: Placement) -> Tables:
    """Collected tables only: rows that mean nothing are left out, a collected kind without rows is empty."""
    tables: Tables = {}
    for kind, answer in evidence.answers.items():
        found = evidence.tables.get(kind)
        if answer == "yes" and found is not None:
            tables[kind] = processes.applied(found, None if kind in _PLACED else placement.index)
        elif answer == "yes":
            tables[kind] = kind.empty()
    return tables


@dataclass(frozen=True, slots=True)
class _Processes:
    """Final processes and, for each provisional index, its place among them."""

    keys: tuple[int, ...]
    final: npt.NDArray[np.int32]

    @classmethod
    def of(cls, registry: Registry, traced: int) -> _Processes:
        """Rows without a process belong to the only one of the `traced` processes there is, else to one with pid 0."""
        known = list(registry.processes.known)
        named = [key for key in known[:traced] if key != UNKNOWN_PROCESS]
        merged = {UNKNOWN_PROCESS: named[0]} if len(named) == 1 else {}
        keys = tuple(key for key in known if key not in merged)
        place = {key: index for index, key in enumerate(keys)}
        return cls(keys, np.array([place[merged.get(key, key)] for key in known], np.int32))

    def index_of(self, registry: Registry, global_tid: int) -> int:
        """Process of a thread."""
        return int(self.final[registry.processes.known[global_tid & _PROCESS_BITS]])

    def device_pairs(self, registry: Registry) -> list[tuple[int, int]]:
        """Process key and device id of every provisional device."""
        return [(self.keys[self.final[pair >> 32]], pair & 0xFFFFFFFF) for pair in registry.devices.known]

    def applied(self, table: Table, devices: tuple[int, ...] | None) -> Table:
        """The table with final process indices, and device indices unless they are final already (None)."""
        final = {"process": self.final}
        if devices is not None:
            final["device"] = np.asarray(devices or (0,), np.int32)
        moved = {name: index for name, index in final.items() if name in table.COLUMNS and not _is_identity(index)}
        if not moved:
            return table
        return table.with_columns(**{name: index[table.array(name)] for name, index in moved.items()})


def _is_identity(index: npt.NDArray[np.int32]) -> bool:
    return bool((index == np.arange(len(index))).all())
