"""Device activities of an export: kernels, copies, migrations, memsets, graph runs, syncs, event records, callbacks."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_rows import device_spans, spans, timed, with_device, zero_if_null
from stallscope.ingest.nsys_source import integers
from stallscope.model.events import CopyKind, MemoryKind, MigrationCause, StreamFlag, SyncKind

_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid")
_NONE_ID = 4_294_967_295

Frame = pl.DataFrame


def _place() -> list[pl.Expr]:
    return [
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        pl.col("device"),
        pl.col("process"),
        zero_if_null("contextId").alias("context"),
        zero_if_null("streamId").alias("stream"),
        zero_if_null("correlationId").alias("correlation"),
    ]


def kernels(registry: Registry, table: str) -> Frame:
    """Columns of `Kernels`."""
    dimensions = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ")
    memory = ("registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread")
    wanted = integers(*_PLACE, *dimensions, *memory, "shortName", "demangledName", "graphNodeId")
    rows = device_spans(registry, table, registry.read(table, wanted))
    short = registry.names.of_ids(rows.get_column("shortName")).alias("name")
    full = registry.names.of_ids(rows.get_column("demangledName")).alias("full_name")
    rows = rows.with_columns(short, full)
    return rows.select(
        *_place(),
        pl.when(pl.col("name") == 0).then(pl.col("full_name")).otherwise(pl.col("name")).alias("name"),
        pl.when(pl.col("full_name") == 0).then(pl.col("name")).otherwise(pl.col("full_name")).alias("full_name"),
        *(_size(name).alias(f"{name[:-1]}_{name[-1].lower()}") for name in dimensions),
        _size("registersPerThread").alias("registers"),
        (zero_if_null("staticSharedMemory") + zero_if_null("dynamicSharedMemory")).alias("shared_bytes"),
        zero_if_null("localMemoryPerThread").alias("local_bytes"),
        zero_if_null("graphNodeId").alias("graph_node"),
    )


def copies(registry: Registry, table: str) -> tuple[Frame, Frame]:
    """Columns of `Copies`, and of `Migrations`: the unified-memory kinds of the same table."""
    wanted = integers(
        *_PLACE, "bytes", "copyKind", "srcKind", "dstKind", "graphNodeId", "migrationCause", "virtualAddress"
    )
    rows = device_spans(registry, table, registry.read(table, wanted))
    kind = registry.enum(enums.COPY_KIND, rows.get_column("copyKind"), CopyKind.UNKNOWN).alias("kind")
    rows = rows.with_columns(kind)
    migrated = rows.filter(pl.col("kind") >= enums.MIGRATION)
    copied = rows.filter(pl.col("kind") < enums.MIGRATION)
    sides = [
        registry.enum(enums.MEMORY_KIND, copied.get_column(column), MemoryKind.UNKNOWN).alias(name)
        for column, name in (("srcKind", "source_kind"), ("dstKind", "target_kind"))
    ]
    graph_node = zero_if_null("graphNodeId").alias("graph_node")
    streamed = copied.with_columns(sides).select(
        *_place(), zero_if_null("bytes").alias("bytes"), "kind", "source_kind", "target_kind", graph_node
    )
    return streamed, _migrations(registry, migrated)


def _migrations(registry: Registry, rows: Frame) -> Frame:
    cause = registry.enum(enums.MIGRATION_CAUSE, rows.get_column("migrationCause"), MigrationCause.UNKNOWN)
    return rows.with_columns(cause.alias("cause")).select(
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        "device",
        "process",
        zero_if_null("bytes").alias("bytes"),
        (pl.col("kind") - enums.MIGRATION).cast(pl.Int8).alias("kind"),
        "cause",
        zero_if_null("virtualAddress").alias("address"),
    )


def memsets(registry: Registry, table: str) -> Frame:
    """Columns of `Memsets`."""
    rows = device_spans(registry, table, registry.read(table, integers(*_PLACE, "bytes")))
    return rows.select(*_place(), zero_if_null("bytes").alias("bytes"))


def graph_runs(registry: Registry, table: str) -> Frame:
    """Columns of `GraphRuns`."""
    rows = device_spans(registry, table, registry.read(table, integers(*_PLACE, "graphId")))
    return rows.select(*_place(), zero_if_null("graphId").alias("graph"))


def contexts(frames: Iterable[Frame]) -> Frame:
    """The device of every (process, context) that did device work."""
    key = ["process", "context"]
    parts = [frame.select(*key, "device").unique(maintain_order=True) for frame in frames]
    schema_only = pl.DataFrame(schema={"process": pl.Int32, "context": pl.Int64, "device": pl.Int32})
    return pl.concat([schema_only, *parts]).unique(key, keep="first", maintain_order=True)


def syncs(registry: Registry, table: str, known: Frame) -> Frame:
    """Columns of `Syncs`; a stream or event id of 2^32 - 1 (or -1) means none.

    Synchronization rows of every process can say device 0, so the device is that of the context where it is known.
    """
    wanted = integers(*_PLACE, "syncType", "deprecatedSyncType", "eventId", "eventSyncId")
    rows = spans(registry, table, registry.read(table, wanted))
    process = registry.process(rows.get_column("globalPid")).alias("process")
    of_context = known.rename({"context": "contextId"})
    rows = rows.with_columns(process).join(of_context, on=["process", "contextId"], how="left", maintain_order="left")
    unplaced = rows.filter(pl.col("device").is_null())
    if unplaced.height:
        rows = pl.concat([rows.drop_nulls("device"), with_device(registry, table, unplaced)]).sort("start")
    number = rows.select(pl.coalesce("syncType", "deprecatedSyncType")).to_series()
    kind = registry.enum(enums.SYNC_KIND, number, SyncKind.UNKNOWN).alias("kind")
    return rows.with_columns(kind).select(
        *(column for column in _place() if column.meta.output_name() != "stream"),
        _id_or_none("streamId").alias("stream"),
        "kind",
        _id_or_none("eventId").alias("event"),
        zero_if_null("eventSyncId").alias("event_sync"),
    )


def event_records(registry: Registry, table: str) -> Frame:
    """Columns of `EventRecords`, ordered by correlation where the export collected no device timestamps."""
    wanted = integers("contextId", "streamId", "correlationId", "globalPid", "eventId", "eventSyncId", "timestamp")
    rows = registry.read(table, wanted)
    process = registry.process(rows.get_column("globalPid")).alias("process")
    return (
        rows.with_columns(process)
        .select(
            "process",
            zero_if_null("contextId").alias("context"),
            zero_if_null("streamId").alias("stream"),
            zero_if_null("correlationId").alias("correlation"),
            zero_if_null("eventId").alias("event"),
            zero_if_null("eventSyncId").alias("event_sync"),
            zero_if_null("timestamp").alias("time_ns"),
        )
        .sort("time_ns", "process", "correlation", maintain_order=True)
    )


def host_callbacks(registry: Registry, table: str) -> Frame:
    """Columns of `HostCallbacks`."""
    rows = device_spans(registry, table, registry.read(table, integers(*_PLACE)))
    return rows.select(
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        "process",
        zero_if_null("contextId").alias("context"),
        zero_if_null("streamId").alias("stream"),
    )


def gpu_faults(registry: Registry, table: str) -> Frame:
    """Columns of `GpuFaults`."""
    wanted = integers("start", "end", "globalPid", "deviceId", "address", "numberOfPageFaults")
    rows = device_spans(registry, table, registry.read(table, wanted))
    return rows.select(
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        "device",
        "process",
        zero_if_null("address").alias("address"),
        zero_if_null("numberOfPageFaults").alias("faults"),
    )


def cpu_faults(registry: Registry, table: str) -> Frame:
    """Columns of `CpuFaults`."""
    rows = timed(registry, table, registry.read(table, integers("start", "globalPid", "address")), "start")
    process = registry.process(rows.get_column("globalPid")).alias("process")
    return rows.with_columns(process).select(
        pl.col("start").alias("time_ns"), "process", zero_if_null("address").alias("address")
    )


def memory_events(registry: Registry, table: str) -> Frame:
    """Columns of `MemoryEvents`; allocations made before the collection started carry time 0."""
    pool = ("localMemoryPoolReleaseThreshold", "localMemoryPoolSize", "localMemoryPoolUtilizedSize")
    wanted = integers(
        "start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType", "correlationId"
    )
    rows = registry.read(table, {**wanted, **integers("localMemoryPoolAddress", *pool)})
    rows = with_device(registry, table, timed(registry, table, rows, "start"))
    kind = registry.enum(enums.MEMORY_KIND, rows.get_column("memKind"), MemoryKind.UNKNOWN).alias("kind")
    operation = registry.enum(enums.MEMORY_OPERATION, rows.get_column("memoryOperationType"), enums.ALLOCATED)
    held = ("pool_threshold_bytes", "pool_bytes", "pool_used_bytes")
    return rows.with_columns(kind, (operation == enums.FREED).alias("is_free")).select(
        pl.col("start").alias("time_ns"),
        "process",
        "device",
        zero_if_null("address").alias("address"),
        zero_if_null("bytes").alias("bytes"),
        "kind",
        "is_free",
        zero_if_null("correlationId").alias("correlation"),
        zero_if_null("localMemoryPoolAddress").alias("pool"),
        *(pl.col(column).fill_null(-1).alias(name) for column, name in zip(pool, held, strict=True)),
    )


def pool_trims(registry: Registry, table: str) -> Frame:
    """Columns of `PoolTrims`."""
    rows = timed(registry, table, registry.read(table, integers("start", "globalPid", "operationType")), "start")
    operation = registry.enum(enums.POOL_OPERATION, rows.get_column("operationType"), 0)
    rows = rows.filter(operation == enums.TRIMMED)
    process = registry.process(rows.get_column("globalPid")).alias("process")
    return rows.with_columns(process).select(pl.col("start").alias("time_ns"), "process")


def streams(registry: Registry) -> Frame | None:
    """Columns of `Streams`: created streams and the null stream of each context, of the processes met so far."""
    parts = [
        _streams(registry, wanted, stream, null)
        for wanted, stream, null in (
            (schema.CUDA_STREAMS, "streamId", False),
            (schema.CUDA_CONTEXTS, "nullStreamId", True),
            (schema.CUDA_NULL_STREAMS, "streamId", True),
        )
    ]
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return pl.concat(found).unique(["process", "context", "stream"], keep="last", maintain_order=True)


def _streams(registry: Registry, wanted: tuple[str, ...], stream: str, null: bool) -> Frame | None:  # noqa: FBT001
    table = registry.table(wanted)
    if table is None:
        return None
    columns = integers("processId", "contextId", stream, "flag", "priority")
    rows = registry.read(table, columns)
    process = registry.processes_of_pids(rows.get_column("processId")).alias("process")
    rows = rows.with_columns(process).drop_nulls(["process", "contextId", stream])
    flag = registry.enum(enums.STREAM_FLAG, rows.get_column("flag"), StreamFlag.UNKNOWN).alias("flag")
    rows = rows.with_columns(pl.lit(StreamFlag.NULL.value, pl.Int8).alias("flag") if null else flag)
    return rows.select(
        "process",
        pl.col("contextId").alias("context"),
        pl.col(stream).alias("stream"),
        "flag",
        zero_if_null("priority").clip(-(1 << 31), (1 << 31) - 1).cast(pl.Int32).alias("priority"),
    )


def _size(name: str) -> pl.Expr:
    return zero_if_null(name).clip(0, (1 << 31) - 1).cast(pl.Int32)


def _id_or_none(name: str) -> pl.Expr:
    value = pl.col(name).fill_null(-1)
    return pl.when(value == _NONE_ID).then(-1).otherwise(value)
