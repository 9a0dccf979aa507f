"""Any trace file → typed tables. The content decides which reader runs, never the suffix."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stallscope.errors import InputError
from stallscope.ingest.nsys_sqlite import MAGIC, SqliteExport
from stallscope.ingest.nsys_trace import read_trace
from stallscope.model.analysis import Source
from stallscope.model.trace import Trace

Progress = Callable[[str, "float | None"], None]
"""Told the stage and the finished share of it (None: unknown)."""


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How to open: which nsys exports reports, whether the cache is used, who hears about progress."""

    nsys: str | None = None
    use_cache: bool = True
    progress: Progress | None = None


def open_trace(path: Path, options: OpenOptions | None = None) -> Trace:
    """Read one trace.

    Raises `InputError` when it cannot be read and `ToolMissingError` when it needs a tool that is not installed.
    """
    del options
    with path.open("rb") as file:
        head = file.read(16)
    if head != MAGIC:
        raise InputError("not a SQLite export (other formats are not supported yet)", file=path.name)
    source = SqliteExport(path)
    try:
        return read_trace(source, Source(name=path.name, sha256=_sha256(path), format="nsys-sqlite"))
    finally:
        source.close()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
