"""SQLite exports of Nsight Systems, read-only and immutable, the needed columns only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from stallscope.errors import InputError
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.export_rows import Rows, absent
from stallscope.ingest.limits import TEXT_BYTES
from stallscope.ingest.nsys_source import Kind, PlainKind
from stallscope.ingest.sqlite_connection import BoundedConnection, quoted
from stallscope.ingest.sqlite_pages import SqlitePages

if TYPE_CHECKING:
    from stallscope.ingest.sqlite_query import SqliteQueries

KindT = TypeVar("KindT", bound=Kind)

_IDS_A_QUERY = 500
_MANY_IDS = 8 * _IDS_A_QUERY
_EXPORT_AGAIN = "export the report again: nsys export --type sqlite --force-overwrite true REPORT.nsys-rep"


class SqliteExport:
    """An export in one SQLite file. Nothing is ever written to it or beside it."""

    def __init__(self, path: Path, name: str | None = None) -> None:
        """Open `path`; `name` is the file that messages name, where the export is a copy made for it."""
        self._file = name or path.name
        path = path.resolve()
        _refuse_unfinished(path, self._file)
        uri = path.as_uri() + "?mode=ro&immutable=1"
        with ExitStack() as opened:
            self._connection: BoundedConnection = self._guarded(lambda: BoundedConnection(path, uri))
            opened.callback(self._connection.close)
            self._pages = SqlitePages(path, self._connection.sqlite)
            opened.callback(self._pages.close)
            self.tables: Mapping[str, frozenset[str]] = self._guarded(self._inspect)
            if not schema.looks_like_export(self.tables):
                raise InputError(
                    "a SQLite database, but not one that nsys export wrote",
                    file=self._file,
                    next_step="give the .nsys-rep report, or the .sqlite file of nsys export --type sqlite",
                )
            self._uri = uri
            self._opened = opened.pop_all()

    @cached_property
    def _queries(self) -> SqliteQueries:
        from stallscope.ingest.sqlite_query import SqliteQueries

        queries = SqliteQueries(self._connection, self._uri)
        self._opened.callback(queries.close)
        return queries

    def records(self, table: str, columns: Mapping[str, PlainKind]) -> list[tuple[Any, ...]]:
        """See `ExportSource.records`."""
        return self.rows(table, columns).records(*columns)

    def announce(self, table: str, columns: Mapping[str, Kind]) -> None:
        """See `ExportSource.announce`."""
        self._guarded(lambda: self._pages.announce(table, self._present(table, columns)))

    def _present(self, table: str, columns: Mapping[str, KindT]) -> dict[str, KindT]:
        have = self.tables[table]
        return {name: kind for name, kind in columns.items() if name in have}

    def rows(self, table: str, columns: Mapping[str, Kind]) -> Rows:
        """See `ExportSource.rows`."""
        present = self._present(table, columns)
        found = self._decoded(table, present) if present else None
        if found is None:
            found = self._guarded(lambda: self._queries.rows(table, present))
        missing = {name: absent(kind, len(found)) for name, kind in columns.items() if name not in present}
        return Rows({**found.columns, **missing}, len(found))

    def _decoded(self, table: str, columns: Mapping[str, Kind]) -> Rows | None:
        found: Rows | None = self._guarded(lambda: self._pages.rows(table, columns))
        return found

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """See `ExportSource.strings`."""
        table = schema.actual(self.tables, schema.STRINGS)
        pending = list(ids)
        if table is None or not {"id", "value"} <= self.tables[table]:
            return {}
        if len(pending) > _MANY_IDS:
            rows = self.rows(table, {"id": "int", "value": "text"})
            return dict(rows.only(np.isin(rows.values("id"), pending)).records("id", "value"))
        found: dict[int, str] = {}
        for begin in range(0, len(pending), _IDS_A_QUERY):
            part = pending[begin : begin + _IDS_A_QUERY]
            marks = ",".join("?" * len(part))
            value = f"CAST(substr(value, 1, {TEXT_BYTES}) AS BLOB)"
            query = f"SELECT id, {value} FROM {quoted(table)} WHERE id IN ({marks})"  # noqa: S608
            rows = self._guarded(lambda q=query, p=part: self._connection.rows(q, p))
            found.update((number, bytes(raw or b"").decode("utf-8", "replace")) for number, raw in rows)
        return found

    def weight(self, table: str) -> int:
        """See `ExportSource.weight`: the greatest rowid."""
        query = f"SELECT max(rowid) FROM {quoted(table)}"  # noqa: S608
        try:
            greatest = self._connection.rows(query)[0][0]
        except sqlite3.DatabaseError:  # a table without rowids, or a damaged one: reading it will tell
            return 0
        return max(0, greatest) if isinstance(greatest, int) else 0

    def close(self) -> None:
        """See `ExportSource.close`."""
        self._opened.close()

    def _inspect(self) -> dict[str, frozenset[str]]:
        tables: dict[str, frozenset[str]] = {}
        for kind, *told in self._connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master"):
            name, owner, sql = (text if isinstance(text, str) else "" for text in told)
            if kind == "table":
                virtual = sql.lstrip().upper().startswith("CREATE VIRTUAL")
                columns = [] if virtual else self._connection.rows(f"PRAGMA table_xinfo({quoted(name)})")
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
        except (sqlite3.Error, OSError, UnicodeDecodeError, MemoryError) as error:
            raise InputError(f"damaged SQLite file ({error})", file=self._file, next_step=_EXPORT_AGAIN) from error


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
