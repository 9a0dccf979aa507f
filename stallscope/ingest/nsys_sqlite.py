"""SQLite exports of Nsight Systems, read-only and immutable, the needed columns only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stallscope.errors import InputError
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_arrow_query import ArrowQuery, RowRange, row_ranges
from stallscope.ingest.nsys_source import DTYPES, Kind, constant, decoded
from stallscope.ingest.sqlite_pages import SqlitePages

MAGIC = b"SQLite format 3\x00"
_IDS_A_QUERY = 500
_EXPORT_AGAIN = "export the report again: nsys export --type sqlite --force-overwrite true REPORT.nsys-rep"


class SqliteExport:
    """An export in one SQLite file. Nothing is ever written to it or beside it."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        """Open `path`; `name` is the file that messages name, where the export is a copy made for it."""
        self._file = name or path.name
        path = path.resolve()
        _refuse_unfinished(path, self._file)
        uri = path.as_uri() + "?mode=ro&immutable=1"
        self._connection = self._guarded(lambda: _connect(uri))
        self._arrow = ArrowQuery(uri)
        self._pages = SqlitePages(path, self._connection)
        self.tables: Mapping[str, frozenset[str]] = self._guarded(self._inspect)
        if not schema.looks_like_export(self.tables):
            self.close()
            raise InputError(
                "a SQLite database, but not one that nsys export wrote",
                file=self._file,
                next_step="give the .nsys-rep report, or the .sqlite file of nsys export --type sqlite",
            )

    def read(self, table: str, columns: Mapping[str, Kind]) -> pl.DataFrame:
        """See `ExportSource.read`."""
        have = self.tables[table]
        present = {name: kind for name, kind in columns.items() if name in have}
        absent = [pl.lit(None, DTYPES[kind]).alias(name) for name, kind in columns.items() if name not in present]
        if not present:
            return self._nulls(table, columns)
        if set(present.values()) == {"int"}:
            decoded_pages = self._guarded(lambda: self._pages.integers(table, list(present)))
            if decoded_pages is not None:
                return decoded_pages.with_columns(absent).select(list(columns))  # type: ignore[no-any-return]
        wanted = ", ".join(_expression(name, kind) for name, kind in present.items())
        query = f"SELECT {wanted} FROM {_quoted(table)}"  # noqa: S608 (names come from the file's own schema, quoted)
        frame: pl.DataFrame = self._guarded(lambda: self._arrow.run(query, self._ranges(table)))
        typed = [_typed(frame.get_column(name), kind) for name, kind in present.items()]
        return pl.DataFrame(typed).with_columns(absent).select(list(columns))

    def _ranges(self, table: str) -> list[RowRange]:
        name = _quoted(table)  # two subqueries: each reads one end of the tree, one query of both scans the table
        query = f"SELECT (SELECT min(rowid) FROM {name}), (SELECT max(rowid) FROM {name})"  # noqa: S608
        try:
            first, last = self._connection.execute(query).fetchone()
        except sqlite3.OperationalError:  # a table without rowids
            return []
        return [] if first is None else row_ranges(first, last)

    def _nulls(self, table: str, columns: Mapping[str, Kind]) -> pl.DataFrame:
        query = f"SELECT count(*) FROM {_quoted(table)}"  # noqa: S608
        rows = self._guarded(lambda: self._connection.execute(query).fetchone()[0])
        return pl.DataFrame([constant(name, None, DTYPES[kind], rows) for name, kind in columns.items()])

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """See `ExportSource.strings`."""
        table = schema.actual(self.tables, schema.STRINGS)
        pending = list(ids)
        found: dict[int, str] = {}
        for begin in range(0, len(pending) if table else 0, _IDS_A_QUERY):
            part = pending[begin : begin + _IDS_A_QUERY]
            marks = ",".join("?" * len(part))
            query = f"SELECT id, CAST(value AS BLOB) FROM {_quoted(str(table))} WHERE id IN ({marks})"  # noqa: S608
            rows = self._guarded(lambda q=query, p=part: self._connection.execute(q, p).fetchall())
            found.update((number, bytes(raw or b"").decode("utf-8", "replace")) for number, raw in rows)
        return found

    def weight(self, table: str) -> int:
        """See `ExportSource.weight`: the greatest rowid."""
        query = f"SELECT max(rowid) FROM {_quoted(table)}"  # noqa: S608
        try:
            return int(self._connection.execute(query).fetchone()[0] or 0)
        except sqlite3.DatabaseError:  # a table without rowids, or a damaged one: reading it will tell
            return 0

    def close(self) -> None:
        """See `ExportSource.close`."""
        self._arrow.close()
        self._pages.close()
        self._connection.close()

    def _inspect(self) -> dict[str, frozenset[str]]:
        tables: dict[str, frozenset[str]] = {}
        for kind, name, owner, sql in self._connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
            if kind == "table":
                virtual = str(sql or "").lstrip().upper().startswith("CREATE VIRTUAL")
                columns = [] if virtual else self._connection.execute(f"PRAGMA table_xinfo({_quoted(name)})").fetchall()
                if schema.is_read(name) and (virtual or any(column[6] in {2, 3} for column in columns)):
                    self._refuse(name, "a virtual table or has computed columns")
                tables[name] = frozenset(str(column[1]) for column in columns)
            elif kind in {"view", "trigger"} and schema.is_read(owner):
                self._refuse(owner, f"a {kind}" if kind == "view" else "watched by a trigger")
        return tables

    def _refuse(self, table: str, what: str) -> None:
        raise InputError(
            f"{table} is {what}; nsys export writes plain tables", file=self._file, next_step=_EXPORT_AGAIN
        )

    def _guarded(self, work: Any) -> Any:
        try:
            return work()
        except (sqlite3.DatabaseError, OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
            raise InputError(f"damaged SQLite file ({error})", file=self._file, next_step=_EXPORT_AGAIN) from error


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _expression(name: str, kind: Kind) -> str:
    """SQL that always yields one type: the driver fixes a column's type by its first rows."""
    column = _quoted(name)
    if kind == "text":
        return f"CAST(coalesce({column}, '') AS BLOB) AS {column}"
    return f"CAST({column} AS {'INTEGER' if kind == 'int' else 'REAL'}) AS {column}"


def _typed(column: pl.Series, kind: Kind) -> pl.Series:
    return decoded(column) if kind == "text" else column.cast(DTYPES[kind])


def _refuse_unfinished(path: Path, name: str) -> None:
    for suffix in ("-wal", "-journal"):
        beside = path.with_name(path.name + suffix)
        if beside.is_file() and beside.stat().st_size:
            raise InputError(
                f"{beside.name} lies beside it: another program still writes to this database or was interrupted",
                file=name,
                next_step="close the program that has it open, or " + _EXPORT_AGAIN,
            )
    with path.open("rb") as file:
        header = file.read(100)
    page_bytes = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big") if header[24:28] == header[92:96] else 0
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    if len(header) < 100 or path.stat().st_size < page_bytes * pages:
        raise InputError("truncated SQLite file", file=name, next_step=_EXPORT_AGAIN)
