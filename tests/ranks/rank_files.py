"""Writes simulated ranks as PyTorch profiler traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl

from stallscope.model.columns import Table
from stallscope.model.events import ApiCalls, Collectives, Kernels, NvtxRanges
from stallscope.model.trace import Trace


def write_rank(trace: Trace, path: Path) -> None:
    """The trace as gzip-compressed profiler JSON."""
    rows = pl.concat([_kernels(trace), _calls(trace), _ranges(trace)])
    head = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": trace.source.rank}})[:-1]
    text = f'{head}, "traceEvents": [\n' + ",\n".join(rows.to_list()) + "\n]}\n"
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1))


def _times(frame: pl.DataFrame) -> pl.DataFrame:
    """`ts` and `dur` as microseconds with three decimals."""
    start, length = pl.col("start_ns"), pl.col("end_ns") - pl.col("start_ns")
    return frame.with_columns(ts=_decimal(start), dur=_decimal(length))


def _decimal(ns: pl.Expr) -> pl.Expr:
    return pl.format("{}.{}", ns // 1000, (ns % 1000).cast(pl.String).str.zfill(3))


def _named(trace: Trace, table: Table) -> pl.DataFrame:
    texts = pl.DataFrame(
        {"name": range(len(trace.names)), "text": list(trace.names)}, schema_overrides={"name": pl.Int32}
    )
    return _times(table.frame.join(texts, on="name", how="left", maintain_order="left"))


def _kernels(trace: Trace) -> pl.Series:
    kernels, found = trace.tables[Kernels], trace.tables[Collectives]
    facts = (
        ', "Collective name": "allreduce", "Process Group Name": "0", "In msg nelems": 33554432, "dtype": "BFloat16", '
        '"Group size": {}, "Seq": {}'
    )
    records = found.frame.select(pl.col("kernel"), pl.format(facts, "group_size", "sequence").alias("facts"))
    frame = _named(trace, kernels).with_row_index("kernel").with_columns(pl.col("kernel").cast(pl.Int64))
    frame = frame.join(records, on="kernel", how="left", maintain_order="left").with_columns(
        pl.col("facts").fill_null("")
    )
    text = (
        '{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": {}, "ts": {}, "dur": {}, "args": {"device": 0, '
        '"context": 1, "stream": {}, "correlation": {}, "grid": [1, 1, 1], "block": [1, 1, 1]{}}}'
    )
    return _formatted(frame, text, ["text", "stream", "ts", "dur", "stream", "correlation", "facts"])


def _calls(trace: Trace) -> pl.Series:
    text = (
        '{"ph": "X", "cat": "cuda_runtime", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}, "args": '
        '{"correlation": {}}}'
    )
    return _formatted(_named(trace, trace.tables[ApiCalls]), text, ["text", "ts", "dur", "correlation"])


def _ranges(trace: Trace) -> pl.Series:
    text = '{"ph": "X", "cat": "user_annotation", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}}'
    frame = _named(trace, trace.tables[NvtxRanges]).with_row_index("row")
    numbered = pl.when(pl.col("text") == "ProfilerStep").then(pl.format("{}#{}", "text", pl.col("row") // 2))
    return _formatted(frame.with_columns(numbered.otherwise(pl.col("text")).alias("text")), text, ["text", "ts", "dur"])


def _formatted(frame: pl.DataFrame, text: str, columns: list[str]) -> pl.Series:
    """Fill the places `{}` of a JSON text; its own braces stay."""
    parts = text.split("{}")
    pieces: list[pl.Expr] = [pl.lit(parts[0])]
    for column, part in zip(columns, parts[1:], strict=True):
        pieces += [pl.col(column).cast(pl.String), pl.lit(part)]
    return frame.select(pl.concat_str(pieces).alias("row")).get_column("row")
