"""Copies an export without what identifies its author: environment, host, user, arguments, paths, process output."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stallscope.errors import InputError, UsageError
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.identify import identify
from stallscope.ingest.nsys_private import (
    STRING_IDS,
    Cleaner,
    Identity,
    keeps_row,
    keeps_table,
    keeps_text,
    kept_text,
    metadata_rows,
)
from stallscope.ingest.nsys_sqlite import SqliteExport

_NUMERIC = ("INT", "REAL", "FLOA", "DOUB", "NUM", "BOOL")
_REPORT = (
    "a .nsys-rep report cannot be scrubbed: its format is closed, and it holds the environment, the host and the "
    "output of the program"
)
_EXPORT_FIRST = (
    "export it (nsys export --type sqlite REPORT.nsys-rep), scrub the export and share that; `stallscope run` keeps "
    "these things out of a report from the start"
)
_CANNOT = {
    "nsys-rep": (_REPORT, _EXPORT_FIRST),
    "ncu-rep": ("an .ncu-rep report cannot be scrubbed", "share the CSV: ncu -i REPORT.ncu-rep --csv --page raw"),
    "ncu-csv": ("an Nsight Compute CSV is not scrubbed", "remove its columns 'Process Name' and 'Host Name' yourself"),
    "kineto": ("a PyTorch trace is not scrubbed", "export it from PyTorch without record_shapes and with_stack"),
}


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """What a copy holds: tables kept and dropped, and how many texts had to be changed."""

    kept: tuple[str, ...]
    dropped: tuple[str, ...]
    changed_texts: int


def scrub(source: Path, target: Path) -> Scrubbed:
    """Write a copy of an export (SQLite file, Parquet or Arrow folder) that may be shared.

    The copy appears complete or not at all. Raises `InputError` for what cannot be scrubbed and `UsageError` when the
    target exists.
    """
    format_ = identify(source)
    if format_ in _CANNOT:
        what, then = _CANNOT[format_]
        raise InputError(what, file=source.name, next_step=then)
    if target.exists():
        raise UsageError("the copy would replace something", file=target.name, next_step="give -o a name that is free")
    if format_ == "nsys-sqlite":
        return _scrub_database(source, target)
    from stallscope.ingest.nsys_scrub_folder import scrub_folder

    return scrub_folder(source, target)


def _scrub_database(source: Path, target: Path) -> Scrubbed:
    SqliteExport(source).close()  # refuses what is damaged, unfinished or no export
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with closing(sqlite3.connect(part.resolve().as_uri(), uri=True)) as database:
            result = _Copy(database, source).run()
        part.replace(target)
    except sqlite3.DatabaseError as error:
        raise InputError(f"damaged SQLite file ({error})", file=source.name) from error
    finally:
        part.unlink(missing_ok=True)
    return result


class _Copy:
    """One copy in progress: the source is attached read-only, every value passes a list on its way."""

    def __init__(self, database: sqlite3.Connection, source: Path) -> None:
        self._db = database
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "trusted_schema=OFF", "cell_size_check=ON"):
            database.execute(f"PRAGMA {pragma}")
        database.execute("ATTACH ? AS source", (source.resolve().as_uri() + "?mode=ro&immutable=1",))
        self._clean = Cleaner(Identity.of(self._metadata()))
        database.create_function("clean", 1, self._text, deterministic=True)
        database.create_function("keeps_row", 3, keeps_row, deterministic=True)
        database.create_function("kept_text", 3, self._kept_text, deterministic=True)

    def run(self) -> Scrubbed:
        """Copy every table that travels; StringIds last, reduced to the strings that kept rows name."""
        tables = [str(row[0]) for row in self._db.execute("SELECT name FROM source.sqlite_master WHERE type = 'table'")]
        kept = [table for table in tables if keeps_table(table) and table not in schema.STRINGS]
        self._db.execute("CREATE TEMP TABLE used (id INTEGER PRIMARY KEY)")
        for table in kept:
            self._copy(table)
        strings = schema.actual(tables, schema.STRINGS)
        if strings is not None:
            self._copy_strings(strings)
            kept.append(strings)
        self._db.commit()
        self._db.execute("DETACH source")
        dropped = sorted(set(tables) - set(kept))
        return Scrubbed(tuple(sorted(kept)), tuple(dropped), self._clean.changed)

    def _copy(self, table: str) -> None:
        columns = self._columns(table)
        name = _quoted(table)
        declared = ", ".join(f"{_quoted(column)} {kind}" for column, kind in columns)
        self._db.execute(f"CREATE TABLE main.{name} ({declared})")
        values = ", ".join(self._value(table, column, kind) for column, kind in columns)
        rows = f"SELECT {values} FROM source.{name}"  # noqa: S608 - names of the file's own tables, quoted
        if metadata_rows(table) is not None:
            rows += " WHERE keeps_row(?, CAST(name AS TEXT), CAST(value AS TEXT))"
            self._db.execute(f"INSERT INTO main.{name} {rows}", (table,))
            return
        self._db.execute(f"INSERT INTO main.{name} {rows}")
        for column, _ in columns:
            if column in STRING_IDS:
                ids = f"SELECT DISTINCT {_quoted(column)} FROM main.{name} WHERE {_quoted(column)} IS NOT NULL"  # noqa: S608
                self._db.execute(f"INSERT OR IGNORE INTO used {ids}")

    def _copy_strings(self, table: str) -> None:
        name = _quoted(table)
        self._db.execute(f"CREATE TABLE main.{name} (id INTEGER PRIMARY KEY, value TEXT)")
        self._db.execute(
            f"INSERT INTO main.{name} SELECT CAST(id AS INTEGER), clean(CAST(value AS BLOB)) FROM source.{name} "  # noqa: S608
            "WHERE id IN (SELECT id FROM used)"
        )

    def _columns(self, table: str) -> list[tuple[str, str]]:
        """(name, declared type), the type reduced to what SQLite knows."""
        rows = self._db.execute(f"PRAGMA source.table_info({_quoted(table)})")
        return [(str(row[1]), _affinity(str(row[2]))) for row in rows]

    def _value(self, table: str, column: str, kind: str) -> str:
        """SQL of one value: numbers pass, allowed text is cleaned, everything else becomes null."""
        name = _quoted(column)
        if metadata_rows(table) is not None:
            return f"CAST({name} AS TEXT)" if column in {"name", "value"} else "NULL"
        if kind != "TEXT":
            return f"CASE WHEN typeof({name}) IN ('integer', 'real') THEN {name} END"
        if keeps_text(table, column):
            place = ", ".join("'" + word.replace("'", "''") + "'" for word in (table, column))
            return f"CASE WHEN {name} IS NOT NULL THEN clean(kept_text({place}, CAST({name} AS BLOB))) END"
        return "NULL"

    def _metadata(self) -> Iterator[tuple[str, str]]:
        tables = [str(row[0]) for row in self._db.execute("SELECT name FROM source.sqlite_master WHERE type = 'table'")]
        for table in tables:
            if metadata_rows(table) is None:
                continue
            query = f"SELECT CAST(name AS TEXT), CAST(value AS TEXT) FROM source.{_quoted(table)}"  # noqa: S608
            yield from ((str(name), str(value)) for name, value in self._db.execute(query) if name and value)

    def _text(self, value: bytes | str | None) -> str | None:
        return self._clean(_decoded(value))

    def _kept_text(self, table: str, column: str, value: bytes | str | None) -> str | None:
        return kept_text(table, column, _decoded(value))


def _decoded(value: bytes | str | None) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _affinity(declared: str) -> str:
    upper = declared.upper()
    if not any(word in upper for word in _NUMERIC):
        return "TEXT"
    return "INTEGER" if "INT" in upper or "BOOL" in upper else "REAL"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
