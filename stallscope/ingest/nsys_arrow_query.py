"""SQLite → Arrow: whole columns of a table, without a Python object a value, on several cores."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import Any

import polars as pl

_ROWS_A_BATCH = 1 << 16
_ROWS_A_THREAD = 200_000
_MOST_THREADS = 8

RowRange = tuple[int, int]


class ArrowQuery:
    """Read-only queries through ADBC; every one has a connection of its own, so they can run side by side."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    @cached_property
    def _manager(self) -> Any:
        import adbc_driver_manager

        return adbc_driver_manager

    @cached_property
    def _database(self) -> Any:
        import adbc_driver_sqlite

        return adbc_driver_sqlite.connect(self._uri)

    def run(self, query: str, ranges: Sequence[RowRange], most: int) -> pl.DataFrame:
        """Rows of the query in file order; with `ranges`, one part a range of rowids (both ends), `most` a part.

        Raises `sqlite3.DatabaseError`.
        """
        if len(ranges) < 2:
            return self._one(f"{query} LIMIT {most}")
        parts = [f"{query} WHERE rowid BETWEEN {first} AND {last} LIMIT {most}" for first, last in ranges]
        _ = self._database
        with ThreadPoolExecutor(len(parts)) as threads:
            return pl.concat(threads.map(self._one, parts))

    def close(self) -> None:
        """Release the file."""
        if "_database" in vars(self):
            self._database.close()

    def _one(self, query: str) -> pl.DataFrame:
        try:
            with (
                self._manager.AdbcConnection(self._database) as connection,
                self._manager.AdbcStatement(connection) as statement,
            ):
                statement.set_options(**{"adbc.sqlite.query.batch_rows": str(_ROWS_A_BATCH)})
                statement.set_sql_query(query)
                stream, _ = statement.execute_query()
                return pl.DataFrame(stream)
        except self._manager.Error as error:
            raise sqlite3.DatabaseError(str(error)) from error


def row_ranges(first: int, last: int) -> list[RowRange]:
    """Rowids `first`…`last` cut into one range a core, none smaller than is worth a thread."""
    rows = last - first + 1
    parts = max(1, min(rows // _ROWS_A_THREAD, _cores(), _MOST_THREADS))
    cuts = [first + rows * part // parts for part in range(parts + 1)]
    return [(begin, end - 1) for begin, end in pairwise(cuts)]


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this platform
        return os.cpu_count() or 1
