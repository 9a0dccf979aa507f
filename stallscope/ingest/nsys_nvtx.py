"""NVTX ranges of an export: push/pop, start/end, domains, and the GIL trace that is stored as NVTX."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_rows import host_spans, latest
from stallscope.ingest.nsys_source import constant, integers

_THREAD_BITS = (1 << 24) - 1
_GIL_DOMAIN = re.compile(r"(python )?gil( trace)?", re.IGNORECASE)
_WAITING = re.compile(r"wait", re.IGNORECASE)
_CALL_NUMBERS = r"(, (seq|op_id) = \d+)+"
"""PyTorch numbers every call (`aten::mul, seq = 45, op_id = 99`): without the numbers equal operators share a name."""

_NCCL_CALL = r"^nccl[A-Z]"

Frame = pl.DataFrame


@dataclass(frozen=True, slots=True)
class NvtxTables:
    """Columns of `NvtxRanges`, `CrossThreadRanges` and `GilSpans` (None: no GIL domain in this export)."""

    ranges: Frame
    cross_thread: Frame
    gil: Frame | None


def nvtx(registry: Registry, table: str, last_ns: int) -> NvtxTables:
    """All ranges of the table; those that were never closed end at `last_ns`, the end of the trace."""
    rows = _named(registry, table)
    ranges = rows.filter(pl.col("kind").is_in([enums.PUSH_POP, enums.START_END]))
    last_ns = max(last_ns, latest(ranges.get_column("start")), latest(ranges.get_column("end")))
    ranges = host_spans(registry, table, ranges.with_columns(pl.col("end").fill_null(last_ns)))
    domains = _domains(registry, ranges, rows.filter(pl.col("kind") == enums.DOMAIN))
    return _split(registry, ranges.join(domains, on=["owner", "domainId"], how="left", maintain_order="left"))


def _named(registry: Registry, table: str) -> Frame:
    """Rows with `kind`, `name` (inline text, else the registered string) and the `owner` process of their domain."""
    wanted = integers("start", "end", "eventType", "globalTid", "endGlobalTid", "textId", "domainId")
    rows = registry.read(table, {**wanted, "text": "text"})
    kind = registry.enum(enums.NVTX_EVENT, rows.get_column("eventType"), 0).alias("kind")
    if "eventType" not in registry.source.tables[table]:
        kind = constant("kind", enums.PUSH_POP, pl.Int8(), rows.height)
    inline = registry.names.of_texts(rows.get_column("text"), without=_CALL_NUMBERS).alias("inline")
    registered = registry.names.of_ids(rows.get_column("textId")).alias("registered")
    thread = pl.col("globalTid").fill_null(0)
    return (
        rows.drop("text")
        .with_columns(kind, inline, registered)
        .with_columns(
            pl.when(pl.col("inline") == 0).then("registered").otherwise("inline").alias("name"),
            (thread - (thread & _THREAD_BITS)).alias("owner"),
            pl.col("domainId").fill_null(0),
        )
    )


def _domains(registry: Registry, ranges: Frame, created: Frame) -> Frame:
    """Name id of every (process, domain) in use.

    A domain that was created outside the capture has no name: it is NCCL's when it holds NCCL's calls alone, else it
    goes by its number.
    """
    names = created.select("owner", "domainId", "name").unique(["owner", "domainId"], keep="last")
    nccl = pl.Series("nccl", list(registry.names.names())).str.contains(_NCCL_CALL)
    used = ranges.select("owner", "domainId", nccl.gather(ranges.get_column("name")))
    used = used.group_by("owner", "domainId").agg(pl.col("nccl").all()).sort("owner", "domainId")
    known = used.join(names, on=["owner", "domainId"], how="left", maintain_order="left")
    domains = [
        registry.names.intern("" if number == 0 else "NCCL" if is_nccl else f"domain {number}")
        if name is None
        else name
        for number, is_nccl, name in known.select("domainId", "nccl", "name").iter_rows()
    ]
    return known.select("owner", "domainId", pl.Series("domain", domains, dtype=pl.Int32))


def _split(registry: Registry, ranges: Frame) -> NvtxTables:
    texts = list(registry.names.names())
    gil_domains = [i for i, text in enumerate(texts) if _GIL_DOMAIN.fullmatch(text)]
    is_gil = pl.col("domain").is_in(gil_domains)
    crosses = pl.col("endGlobalTid").is_not_null() & (pl.col("endGlobalTid") != pl.col("globalTid"))
    span = [pl.col("start").alias("start_ns"), pl.col("end").alias("end_ns"), pl.col("thread")]
    user = ranges.filter(~is_gil)
    crossing = user.filter(crosses)
    end_thread = registry.thread(crossing.get_column("endGlobalTid")).alias("end_thread")
    waits = [i for i, text in enumerate(texts) if _WAITING.search(text)]
    gil = ranges.filter(is_gil).select(*span, pl.col("name").is_in(waits).alias("waiting"))
    return NvtxTables(
        ranges=user.filter(~crosses).select(*span, "name", "domain"),
        cross_thread=crossing.with_columns(end_thread).select(*span, "end_thread", "name"),
        gil=gil if gil.height else None,
    )
