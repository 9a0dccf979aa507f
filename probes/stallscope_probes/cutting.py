"""Cuts the part of one variant out of a session's SQLite export and removes what identifies the machine.

A cut is a small file of real events: every row that starts inside the variant's session range, and nothing else. The
range lies between two waits for the device, so nothing that the variant launched is lost.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from stallscope.ingest.nsys_scrub import scrub

SESSION_PREFIX = "stallscope-session:"
PAGE_BYTES = 512
ENUMS = ("ENUM_CUDA", "ENUM_CUPTI", "ENUM_NSYS_EVENT_TYPE", "ENUM_GPU")
TIMES = ("start", "timestamp")


@dataclass(frozen=True)
class SessionRange:
    """One variant's part of a session: `[start_ns, end_ns)` on the trace clock."""

    name: str
    start_ns: int
    end_ns: int

    @property
    def probe(self) -> str:
        """`family/variant`."""
        return self.name.removeprefix(SESSION_PREFIX)


def session_ranges(export: Path) -> tuple[SessionRange, ...]:
    """Every variant in a session's export, in order of time."""
    with closing(sqlite3.connect(f"{export.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as database:
        rows = database.execute(
            "SELECT COALESCE(text, value) AS name, start, end FROM NVTX_EVENTS "
            "LEFT JOIN StringIds ON id = textId WHERE name LIKE ? AND end IS NOT NULL ORDER BY start",
            (f"{SESSION_PREFIX}%",),
        ).fetchall()
    return tuple(SessionRange(*row) for row in rows)


def cut(export: Path, part: SessionRange, target: Path) -> None:
    """Write `target`: the events of `part`, scrubbed. An existing target is replaced; a failure leaves none behind."""
    whole = target.with_suffix(".whole")
    clean = target.with_suffix(".clean")
    try:
        for path in (whole, clean):
            path.unlink(missing_ok=True)
        with closing(sqlite3.connect(whole)) as database:
            database.execute("ATTACH ? AS source", (str(export),))
            for table, statement in _copies(database):
                database.execute(f'CREATE TABLE main."{table}" AS {statement}', _bounds(statement, part))
            database.execute("UPDATE ANALYSIS_DETAILS SET duration = ?, startTime = ?, stopTime = ?", _details(part))
            database.commit()
        scrub(whole, clean)
        with closing(sqlite3.connect(clean)) as database:
            database.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            database.execute("VACUUM")
        clean.replace(target)
    finally:
        whole.unlink(missing_ok=True)
        clean.unlink(missing_ok=True)


def _copies(database: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    names = [row[0] for row in database.execute("SELECT name FROM source.sqlite_master WHERE type = 'table'")]
    for table in names:
        if table.startswith("ENUM_") and not table.startswith(ENUMS):
            continue
        columns = {row[1] for row in database.execute(f'PRAGMA source.table_info("{table}")')}
        statement = f'SELECT * FROM source."{table}"'  # noqa: S608 - names of the export's own tables
        time = next((column for column in TIMES if column in columns), None)
        if time is not None:
            statement += f' WHERE "{time}" >= :start AND "{time}" < :end'
        if table == "NVTX_EVENTS":
            statement += f" AND COALESCE(text, '') NOT LIKE '{SESSION_PREFIX}%'"
            statement += f" AND COALESCE(textId, -1) NOT IN ({_SESSION_TEXTS})"
            statement += f" OR eventType IN ({_DECLARATIONS})"
        yield table, statement


# Domains and categories are declared once, before anything else: NvtxCategory, NvtxDomainCreate (ENUM_NSYS_EVENT_TYPE).
_DECLARATIONS = "33, 75"
_SESSION_TEXTS = f"SELECT id FROM source.StringIds WHERE value LIKE '{SESSION_PREFIX}%'"  # noqa: S608


def _bounds(statement: str, part: SessionRange) -> dict[str, int]:
    return {"start": part.start_ns, "end": part.end_ns} if ":start" in statement else {}


def _details(part: SessionRange) -> tuple[int, int, int]:
    return part.end_ns - part.start_ns, part.start_ns, part.end_ns
