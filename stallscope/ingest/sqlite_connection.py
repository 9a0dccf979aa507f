"""A read-only connection to a SQLite file that nobody has to trust: no writes, and work bounded by its size."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from stallscope.ingest.limits import TEXT_BYTES

_STEPS_A_CALL = 10_000
_SPARE_STEPS = 2_000_000
_STEPS_A_BYTE = 4
"""Steps of SQLite's machine that one byte of the file may cost; reading every row of a file takes fewer than two."""

_ROWS_A_BATCH = 100


class BoundedConnection:
    """Queries whose work is bounded by the size of the file: a damaged tree can lead to the same page again and again.

    Raises `sqlite3.DatabaseError`, `sqlite3.OperationalError: interrupted` where a bound was reached.
    """

    def __init__(self, path: Path, uri: str) -> None:
        self.file_bytes = path.stat().st_size
        self.sqlite = sqlite3.connect(uri, uri=True)
        self._left = 0
        self.sqlite.set_progress_handler(self._is_over, _STEPS_A_CALL)
        self._allow()
        for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
            self.sqlite.execute(f"PRAGMA {pragma}")

    def close(self) -> None:
        """Release the file."""
        self.sqlite.close()

    def rows(self, query: str, arguments: tuple[object, ...] | list[object] = ()) -> list[tuple[object, ...]]:
        """All rows of a query that yields few."""
        self._allow()
        return self.sqlite.execute(query, arguments).fetchall()

    def blobs(self, query: str) -> Iterator[bytes]:
        """The bytes of a query with one BLOB column, in order."""
        self._allow()
        cursor, budget = self.sqlite.execute(query), 2 * self.file_bytes + TEXT_BYTES
        while batch := cursor.fetchmany(_ROWS_A_BATCH):
            for (text,) in batch:  # substr() of a BLOB without bytes is NULL
                budget -= len(text or b"") + 1
                yield text or b""
            if budget < 0:
                raise sqlite3.DatabaseError("its texts are longer than the file")

    def _allow(self) -> None:
        self._left = (_SPARE_STEPS + _STEPS_A_BYTE * self.file_bytes) // _STEPS_A_CALL

    def _is_over(self) -> bool:
        self._left -= 1
        return self._left < 0


def quoted(name: str) -> str:
    """A table's or column's name as SQL."""
    return '"' + name.replace('"', '""') + '"'
