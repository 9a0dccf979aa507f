"""Host activities of an export: CUDA calls, OS-runtime calls, scheduling, overheads, NVTX ranges, the Python GIL."""

from __future__ import annotations

import polars as pl

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_rows import host_spans, timed, with_thread, zero_if_null
from stallscope.ingest.nsys_source import integers
from stallscope.model.events import OverheadKind

Frame = pl.DataFrame

_UNKNOWN_OVERHEAD = -1


def _span() -> list[pl.Expr]:
    return [pl.col("start").alias("start_ns"), pl.col("end").alias("end_ns")]


def api_calls(registry: Registry, tables: list[str]) -> Frame:
    """Columns of `ApiCalls`, from the runtime table (which holds driver calls too) and an older driver table."""
    parts = [_api_calls(registry, table) for table in tables]
    return parts[0] if len(parts) == 1 else pl.concat(parts).sort("start_ns", maintain_order=True)


def _api_calls(registry: Registry, table: str) -> Frame:
    wanted = integers("start", "end", "globalTid", "correlationId", "nameId", "returnValue")
    rows = host_spans(registry, table, registry.read(table, wanted))
    process = registry.process(rows.get_column("globalTid")).alias("process")
    name = registry.names.of_ids(rows.get_column("nameId"), api=True).alias("name")
    return rows.with_columns(process, name).select(
        *_span(),
        "process",
        "thread",
        zero_if_null("correlationId").alias("correlation"),
        "name",
        zero_if_null("returnValue").clip(-(1 << 31), (1 << 31) - 1).cast(pl.Int32).alias("result"),
    )


def os_calls(registry: Registry, table: str) -> Frame:
    """Columns of `OsCalls`."""
    rows = host_spans(registry, table, registry.read(table, integers("start", "end", "globalTid", "nameId")))
    name = registry.names.of_ids(rows.get_column("nameId")).alias("name")
    return rows.with_columns(name).select(*_span(), "thread", "name")


def scheduled_out(registry: Registry, table: str) -> Frame:
    """Columns of `SchedSpans`: from a thread's switch-out to its next switch-in."""
    rows = registry.read(table, integers("start", "isSchedIn", "globalTid"))
    rows = with_thread(registry, table, timed(registry, table, rows.drop_nulls("isSchedIn"), "start"))
    following = [
        pl.col("start").shift(-1).over("thread").alias("end"),
        pl.col("isSchedIn").shift(-1).over("thread").alias("next_in"),
    ]
    off = rows.with_columns(following).filter((pl.col("isSchedIn") == 0) & (pl.col("next_in") != 0))
    return off.select(*_span(), "thread")


def overheads(registry: Registry, tables: dict[str, OverheadKind | None]) -> Frame:
    """Columns of `Overheads`; the value is the kind of rows whose own type says nothing (None leaves them out)."""
    parts = [_overheads(registry, table, default) for table, default in tables.items()]
    return pl.concat(parts).sort("start_ns", maintain_order=True)


def _overheads(registry: Registry, table: str, default: OverheadKind | None) -> Frame:
    wanted = integers("start", "end", "globalTid", "correlationId", "overheadType")
    rows = host_spans(registry, table, registry.read(table, wanted))
    unknown = _UNKNOWN_OVERHEAD if default is None else default.value
    kind = registry.enum(enums.OVERHEAD_KIND, rows.get_column("overheadType"), unknown).alias("kind")
    process = registry.process(rows.get_column("globalTid")).alias("process")
    return (
        rows.with_columns(process, kind)
        .filter(pl.col("kind") != _UNKNOWN_OVERHEAD)
        .select(*_span(), "process", "thread", "kind", zero_if_null("correlationId").alias("correlation"))
    )
