"""Columns of an export as polars frames: what readers other than the page decoder yield."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from stallscope.ingest.export_codes import Column, coded
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.nsys_source import BOUNDS, Kind, PlainKind

DTYPES: dict[PlainKind, pl.DataType] = {"int": pl.Int64(), "float": pl.Float64(), "text": pl.String()}


def rows_of(frame: pl.DataFrame, kinds: Mapping[str, Kind]) -> Rows:
    """The columns of a polars frame in the form that their kinds ask for."""
    columns = {name: _column(frame.get_column(name), kind) for name, kind in kinds.items()}
    return Rows(columns, frame.height)


def constant(name: str, value: int | str | None, dtype: pl.DataType, rows: int) -> pl.Series:
    """One value in every row."""
    filled: pl.Series = pl.Series(name, [value], dtype=dtype).new_from_index(0, rows)
    return filled


def decoded(column: pl.Series) -> pl.Series:
    """Text of a binary column; bytes that are not UTF-8 become U+FFFD."""
    text: pl.Series
    try:
        text = column.cast(pl.String)
    except pl.exceptions.ComputeError:
        distinct = column.drop_nulls().unique()
        repaired = pl.Series([bytes(raw).decode("utf-8", "replace") for raw in distinct], dtype=pl.String)
        text = column.replace_strict(distinct, repaired, default=None, return_dtype=pl.String)
    return text


def _column(series: pl.Series, kind: Kind) -> Column:
    if kind in {"text", "name"}:
        texts = series.fill_null("")
        distinct = texts.unique(maintain_order=True)
        places = pl.Series(range(len(distinct)), dtype=pl.Int32)
        codes = texts.replace_strict(distinct, places, return_dtype=pl.Int32) if len(distinct) else places
        return Column(codes.to_numpy(), distinct=distinct.to_list())
    missing = series.is_null().to_numpy() if series.null_count() else None
    if kind in BOUNDS:
        return Column(series.fill_null(0).clip(*BOUNDS[kind]).cast(pl.Int32).to_numpy())
    column = Column(series.fill_null(0).to_numpy(), None if kind == "zero" else missing)
    return coded(column) if kind == "key" else column
