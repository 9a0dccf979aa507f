"""Streams of an export: created ones and the null stream of each context."""

from __future__ import annotations

import polars as pl

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_source import Kind, wanted
from stallscope.model import events
from stallscope.model.events import StreamFlag


def streams(registry: Registry) -> events.Streams | None:
    """Created streams and the null stream of each context, of the processes met so far."""
    parts = [
        _streams(registry, names, stream, null)
        for names, stream, null in (
            (schema.CUDA_STREAMS, "streamId", False),
            (schema.CUDA_CONTEXTS, "nullStreamId", True),
            (schema.CUDA_NULL_STREAMS, "streamId", True),
        )
    ]
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return events.Streams(pl.concat(found).unique(["process", "context", "stream"], keep="last", maintain_order=True))


def _streams(registry: Registry, names: tuple[str, ...], stream: str, null: bool) -> pl.DataFrame | None:  # noqa: FBT001
    table = registry.table(names)
    if table is None:
        return None
    columns: dict[str, Kind] = {
        **wanted("int", "processId", "contextId", stream),
        **wanted("int32", "priority"),
        **wanted("key", "flag"),
    }
    rows = registry.rows(table, columns)
    flag = registry.enum(enums.STREAM_FLAG, rows.codes("flag"), StreamFlag.UNKNOWN)
    frame = rows.frame("processId", "contextId", stream, "priority")
    process = pl.Series("process", registry.processes_of_pids(frame.get_column("processId")), dtype=pl.Int32)
    flags = pl.lit(StreamFlag.NULL.value, pl.Int8) if null else pl.Series(flag)
    return (
        frame.with_columns(process, flags.alias("flag"))
        .drop_nulls(["process", "contextId", stream])
        .select("process", pl.col("contextId").alias("context"), pl.col(stream).alias("stream"), "flag", "priority")
    )
