"""Device activities of an export: kernels, copies, migrations, memsets, graph runs, syncs, event records, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_rows import (
    MOST_DEVICES,
    NOWHERE,
    Int32Array,
    Placed,
    device_spans,
    spans,
    timed,
    with_device,
)
from stallscope.ingest.nsys_source import Kind, wanted
from stallscope.model import events
from stallscope.model.events import CopyKind, MemoryKind, MigrationCause, SyncKind

Deferred = Callable[[], npt.NDArray[Any]]

_SPAN = wanted("int", "start", "end")
_PLACE = {
    **_SPAN,
    **wanted("key", "deviceId", "globalPid", "contextId", "streamId"),
    **wanted("zero", "correlationId"),
}
_NONE_ID = 4_294_967_295


def _span(rows: Rows) -> dict[str, Deferred]:
    return {"start_ns": rows.later("start"), "end_ns": rows.later("end")}


def _place(found: Placed) -> dict[str, Any]:
    rows = found.rows
    return {
        **_span(rows),
        "device": found.device,
        "process": found.process,
        "context": rows.packed("contextId"),
        "stream": rows.packed("streamId"),
        "correlation": rows.packed("correlationId"),
    }


def kernels(registry: Registry, table: str) -> events.Kernels:
    """Kernel executions."""
    dimensions = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
    columns: dict[str, Kind] = {
        **_PLACE,
        **wanted("size", *dimensions, "registersPerThread"),
        **wanted("zero", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread", "graphNodeId"),
        **wanted("key", "shortName", "demangledName"),
    }
    found = device_spans(registry, table, registry.rows(table, columns))
    rows = found.rows
    registry.meet_contexts(found.device, rows.codes("contextId"))
    short = registry.names.of_ids(rows.codes("shortName"))
    full = registry.names.of_ids(rows.codes("demangledName"))
    static, dynamic = rows.packed("staticSharedMemory"), rows.packed("dynamicSharedMemory")
    return events.Kernels.lazily(
        len(rows),
        **_place(found),
        name=_or_else(short, full),
        full_name=_or_else(full, short),
        **{f"{name[:-1]}_{name[-1].lower()}": rows.later(name) for name in dimensions},
        registers=rows.packed("registersPerThread"),
        shared_bytes=lambda: static().astype(np.int64) + dynamic(),
        local_bytes=rows.packed("localMemoryPerThread"),
        graph_node=rows.packed("graphNodeId"),
    )


def _or_else(names: Int32Array, others: Int32Array) -> Int32Array:
    """The names, where they are empty the others."""
    return names if names.all() else np.where(names == 0, others, names)


def copies(registry: Registry, table: str) -> tuple[events.Copies, events.Migrations]:
    """Copies, and the unified-memory migrations of the same table."""
    columns: dict[str, Kind] = {
        **_PLACE,
        **wanted("zero", "bytes", "graphNodeId", "virtualAddress"),
        **wanted("key", "copyKind", "srcKind", "dstKind", "migrationCause"),
    }
    found = device_spans(registry, table, registry.rows(table, columns))
    rows = found.rows
    kind = registry.enum(enums.COPY_KIND, rows.codes("copyKind"), CopyKind.UNKNOWN)
    source, target = (
        registry.enum(enums.MEMORY_KIND, rows.codes(side), MemoryKind.UNKNOWN) for side in ("srcKind", "dstKind")
    )
    every = events.Copies.lazily(
        len(rows),
        **_place(found),
        bytes=rows.later("bytes"),
        kind=kind,
        source_kind=source,
        target_kind=target,
        graph_node=rows.later("graphNodeId"),
    )
    is_migration = kind >= enums.MIGRATION
    registry.meet_contexts(found.device[~is_migration], rows.only(~is_migration).codes("contextId"))
    return every.take(~is_migration), _migrations(registry, found, kind).take(is_migration)


def _migrations(registry: Registry, found: Placed, kind: npt.NDArray[np.int8]) -> events.Migrations:
    rows = found.rows
    return events.Migrations.lazily(
        len(rows),
        **_span(rows),
        device=found.device,
        process=found.process,
        bytes=rows.later("bytes"),
        kind=kind - np.int8(enums.MIGRATION),
        cause=registry.enum(enums.MIGRATION_CAUSE, rows.codes("migrationCause"), MigrationCause.UNKNOWN),
        address=rows.later("virtualAddress"),
    )


def memsets(registry: Registry, table: str) -> events.Memsets:
    """Device-side fills."""
    found = device_spans(registry, table, registry.rows(table, {**_PLACE, **wanted("zero", "bytes")}))
    registry.meet_contexts(found.device, found.rows.codes("contextId"))
    return events.Memsets.lazily(len(found.rows), **_place(found), bytes=found.rows.later("bytes"))


def graph_runs(registry: Registry, table: str) -> events.GraphRuns:
    """Whole executions of CUDA graphs."""
    found = device_spans(registry, table, registry.rows(table, {**_PLACE, **wanted("zero", "graphId")}))
    registry.meet_contexts(found.device, found.rows.codes("contextId"))
    return events.GraphRuns.lazily(len(found.rows), **_place(found), graph=found.rows.later("graphId"))


def syncs(registry: Registry, table: str) -> events.Syncs:
    """Synchronizations; a stream or event id of 2^32 - 1 (or -1) means none.

    Synchronization rows of every process can say device 0, so the device is that of the context where it is known.
    """
    columns: dict[str, Kind] = {
        **_SPAN,
        **wanted("int", "streamId", "eventId"),
        **wanted("zero", "correlationId", "eventSyncId"),
        **wanted("key", "deviceId", "globalPid", "contextId", "syncType", "deprecatedSyncType"),
    }
    rows = spans(registry, table, registry.rows(table, columns))
    process = registry.process(rows.codes("globalPid"))
    device = registry.device_of_context(process, rows.codes("contextId"))
    rows, device = _with_own_device(registry, table, rows, device)
    told, older = rows.codes("syncType"), rows.codes("deprecatedSyncType")
    kinds = [registry.enum(enums.SYNC_KIND, numbers, SyncKind.UNKNOWN) for numbers in (told, older)]
    return events.Syncs.lazily(
        len(rows),
        **_span(rows),
        device=device,
        process=registry.process(rows.codes("globalPid")),
        context=rows.later("contextId"),
        stream=_id_or_none(rows, "streamId"),
        correlation=rows.later("correlationId"),
        kind=np.where(told.codes >= 0, *kinds),
        event=_id_or_none(rows, "eventId"),
        event_sync=rows.later("eventSyncId"),
    )


def _with_own_device(registry: Registry, table: str, rows: Rows, device: Int32Array) -> tuple[Rows, Int32Array]:
    """Rows whose context did no work take the device that they name, or go."""
    unplaced = np.flatnonzero(device == NOWHERE)
    if not len(unplaced):
        return rows, device
    ids = rows.codes("deviceId").values(NOWHERE)
    found = with_device(registry, table, rows.only(device == NOWHERE))
    named = unplaced[(ids[unplaced] >= 0) & (ids[unplaced] <= MOST_DEVICES)]
    device[named] = found.device
    return rows.only(device != NOWHERE), device[device != NOWHERE]


def event_records(registry: Registry, table: str) -> events.EventRecords:
    """Recorded events, ordered by correlation where the export collected no device timestamps."""
    zero = ("contextId", "streamId", "correlationId", "eventId", "eventSyncId", "timestamp")
    rows = registry.rows(table, {**wanted("zero", *zero), **wanted("key", "globalPid")})
    process = registry.process(rows.codes("globalPid"))
    order = np.lexsort((rows.values("correlationId"), process, rows.values("timestamp")))
    return events.EventRecords.lazily(
        len(rows),
        process=process,
        context=rows.later("contextId"),
        stream=rows.later("streamId"),
        correlation=rows.later("correlationId"),
        event=rows.later("eventId"),
        event_sync=rows.later("eventSyncId"),
        time_ns=rows.later("timestamp"),
    ).take(order)


def host_callbacks(registry: Registry, table: str) -> events.HostCallbacks:
    """Host functions that a stream ran."""
    found = device_spans(registry, table, registry.rows(table, _PLACE))
    return events.HostCallbacks.lazily(
        len(found.rows),
        **_span(found.rows),
        process=found.process,
        context=found.rows.later("contextId"),
        stream=found.rows.later("streamId"),
    )


def gpu_faults(registry: Registry, table: str) -> events.GpuFaults:
    """Fault groups of the GPU."""
    columns = {**_SPAN, **wanted("key", "globalPid", "deviceId"), **wanted("zero", "address", "numberOfPageFaults")}
    found = device_spans(registry, table, registry.rows(table, columns))
    return events.GpuFaults.lazily(
        len(found.rows),
        **_span(found.rows),
        device=found.device,
        process=found.process,
        address=found.rows.later("address"),
        faults=found.rows.later("numberOfPageFaults"),
    )


def cpu_faults(registry: Registry, table: str) -> events.CpuFaults:
    """Page faults of the CPU."""
    columns = {**wanted("int", "start"), **wanted("key", "globalPid"), **wanted("zero", "address")}
    rows = timed(registry, table, registry.rows(table, columns), "start")
    return events.CpuFaults.lazily(
        len(rows),
        time_ns=rows.later("start"),
        process=registry.process(rows.codes("globalPid")),
        address=rows.later("address"),
    )


def memory_events(registry: Registry, table: str) -> events.MemoryEvents:
    """Allocations and frees; those made before the collection started carry time 0."""
    held = {
        "pool_threshold_bytes": "localMemoryPoolReleaseThreshold",
        "pool_bytes": "localMemoryPoolSize",
        "pool_used_bytes": "localMemoryPoolUtilizedSize",
    }
    columns: dict[str, Kind] = {
        **wanted("int", "start", *held.values()),
        **wanted("key", "globalPid", "deviceId", "memKind", "memoryOperationType"),
        **wanted("zero", "address", "bytes", "correlationId", "localMemoryPoolAddress"),
    }
    found = with_device(registry, table, timed(registry, table, registry.rows(table, columns), "start"))
    rows = found.rows
    operation = registry.enum(enums.MEMORY_OPERATION, rows.codes("memoryOperationType"), enums.ALLOCATED)
    return events.MemoryEvents.lazily(
        len(rows),
        time_ns=rows.later("start"),
        process=found.process,
        device=found.device,
        address=rows.later("address"),
        bytes=rows.later("bytes"),
        kind=registry.enum(enums.MEMORY_KIND, rows.codes("memKind"), MemoryKind.UNKNOWN),
        is_free=operation == enums.FREED,
        correlation=rows.later("correlationId"),
        pool=rows.later("localMemoryPoolAddress"),
        **{name: rows.filled(column, -1) for name, column in held.items()},
    )


def pool_trims(registry: Registry, table: str) -> events.PoolTrims:
    """Memory pools that gave memory back."""
    columns = {**wanted("int", "start"), **wanted("key", "globalPid", "operationType")}
    rows = timed(registry, table, registry.rows(table, columns), "start")
    rows = rows.only(registry.enum(enums.POOL_OPERATION, rows.codes("operationType"), 0) == enums.TRIMMED)
    process = registry.process(rows.codes("globalPid"))
    return events.PoolTrims.lazily(len(rows), time_ns=rows.later("start"), process=process)


def _id_or_none(rows: Rows, name: str) -> npt.NDArray[np.int64]:
    value = rows.filled(name, -1)
    return np.where(value == _NONE_ID, -1, value)
