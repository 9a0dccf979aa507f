"""Columns of SQLite tables through SQLite: what the page decoder leaves to it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

import polars as pl

from stallscope.ingest.export_frames import DTYPES, decoded, rows_of
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.limits import TEXT_BYTES
from stallscope.ingest.nsys_arrow_query import ArrowQuery, RowRange, row_ranges
from stallscope.ingest.nsys_source import PLAIN, Kind, PlainKind
from stallscope.ingest.sqlite_connection import BoundedConnection, quoted


class SqliteQueries:
    """Tables of one file read by queries; numbers come through Arrow, texts through the bounded connection.

    Raises `sqlite3.DatabaseError` for a file that turns out to be damaged.
    """

    def __init__(self, connection: BoundedConnection, uri: str) -> None:
        self._connection = connection
        self._arrow = ArrowQuery(uri)

    def close(self) -> None:
        """Release the file."""
        self._arrow.close()

    def rows(self, table: str, columns: Mapping[str, Kind]) -> Rows:
        """These columns of a table, all of which it has, in file order."""
        if not columns:
            return Rows({}, self._count(table))
        plain = {name: PLAIN[kind] for name, kind in columns.items()}
        try:
            return rows_of(pl.DataFrame(self._columns(table, plain)), columns)
        except pl.exceptions.PolarsError as error:
            raise sqlite3.DatabaseError(str(error)) from error

    def _columns(self, table: str, columns: Mapping[str, PlainKind]) -> list[pl.Series]:
        numbers = {name: kind for name, kind in columns.items() if kind != "text"}
        parts = [self._texts(table, name) for name, kind in columns.items() if kind == "text"]
        if numbers:
            parts += self._numbers(table, numbers)
        if len({len(part) for part in parts}) > 1:
            raise sqlite3.DatabaseError(f"{table} has another number of rows each time it is read")
        return parts

    def _numbers(self, table: str, columns: Mapping[str, PlainKind]) -> list[pl.Series]:
        wanted = ", ".join(_number(name, kind) for name, kind in columns.items())
        most = self._connection.file_bytes // len(columns)  # every value takes a byte of its record's header
        query = f"SELECT {wanted} FROM {quoted(table)} NOT INDEXED"  # noqa: S608 (names come from the file's schema)
        frame = self._arrow.run(query, self._ranges(table), most + 1)
        if frame.height > most:
            raise sqlite3.DatabaseError(f"{table} claims more rows than fit into the file")
        return [frame.get_column(name).cast(DTYPES[kind]) for name, kind in columns.items()]

    def _texts(self, table: str, name: str) -> pl.Series:
        column = f"CAST(substr(coalesce({quoted(name)}, ''), 1, {TEXT_BYTES}) AS BLOB)"
        query = f"SELECT {column} FROM {quoted(table)} NOT INDEXED"  # noqa: S608
        return decoded(pl.Series(name, list(self._connection.blobs(query)), dtype=pl.Binary)).alias(name)

    def _ranges(self, table: str) -> list[RowRange]:
        name = quoted(table)  # two subqueries: each reads one end of the tree, one query of both scans the table
        query = f"SELECT (SELECT min(rowid) FROM {name}), (SELECT max(rowid) FROM {name})"  # noqa: S608
        try:
            first, last = self._connection.rows(query)[0]
        except sqlite3.OperationalError:  # a table without rowids
            return []
        return row_ranges(first, last) if isinstance(first, int) and isinstance(last, int) else []

    def _count(self, table: str) -> int:
        most = self._connection.file_bytes
        query = f"SELECT count(*) FROM (SELECT 1 FROM {quoted(table)} NOT INDEXED LIMIT {most})"  # noqa: S608
        rows = self._connection.rows(query)[0][0]
        return rows if isinstance(rows, int) else 0


def _number(name: str, kind: PlainKind) -> str:
    """SQL that always yields one type: the driver fixes a column's type by its first rows."""
    return f"CAST({quoted(name)} AS {'INTEGER' if kind == 'int' else 'REAL'}) AS {quoted(name)}"
