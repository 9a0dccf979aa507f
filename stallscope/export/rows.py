"""The timeline as a flat table: one row an interval of a lane, waits included, for CSV and Parquet."""

from __future__ import annotations

from typing import IO

import numpy as np
import polars as pl

from stallscope.export.selection import Selection
from stallscope.reporters.escape import csv_cell
from stallscope.views.lanes import LaneTable
from stallscope.views.text import printable


def frame(table: LaneTable, selection: Selection) -> pl.DataFrame:
    """Columns `device_or_thread`, `lane`, `kind`, `class`, `name`, `start_ns`, `end_ns`, `duration_ns`.

    `class` is the wait id on waits lanes and the kind of operation or call elsewhere. Rows are whole, not cut to the
    window, and sorted by lane and start.
    """
    rows, intervals = selection.rows, table.intervals
    groups = {group.key: group.label for group in table.groups}
    start, end = intervals.start_ns[rows], intervals.end_ns[rows]
    return pl.DataFrame(
        {
            "device_or_thread": _texts([groups.get(lane.group, lane.group) for lane in table.lanes], selection.lane),
            "lane": _texts([lane.label for lane in table.lanes], selection.lane),
            "kind": _texts([lane.kind for lane in table.lanes], selection.lane),
            "class": _texts([kind.key for kind in table.classes], intervals.kind[rows]),
            "name": _texts(list(table.names), intervals.name[rows]),
            "start_ns": pl.Series(start, dtype=pl.Int64),
            "end_ns": pl.Series(end, dtype=pl.Int64),
            "duration_ns": pl.Series(end - start, dtype=pl.Int64),
        }
    )


def write_parquet(rows: pl.DataFrame, out: IO[bytes]) -> None:
    """zstd-compressed Parquet."""
    rows.write_parquet(out, compression="zstd")


def write_csv(rows: pl.DataFrame, out: IO[bytes]) -> None:
    """RFC 4180; a text that a spreadsheet would run as a formula starts with a quote."""
    texts = [name for name, dtype in rows.schema.items() if dtype == pl.String]
    guarded = rows.with_columns(_guarded(rows.get_column(name)) for name in texts)
    guarded.write_csv(out, line_terminator="\r\n")


def _texts(values: list[str], which: np.ndarray[tuple[int], np.dtype[np.generic]]) -> pl.Series:
    printed = pl.Series([printable(value) for value in values] or [""], dtype=pl.String)
    return printed.gather(pl.Series(which.astype(np.int64)))


def _guarded(column: pl.Series) -> pl.Series:
    distinct = column.unique()
    cells = pl.Series([csv_cell(text) for text in distinct], dtype=pl.String)
    guarded: pl.Series = column.replace_strict(distinct, cells, return_dtype=pl.String)
    return guarded
