"""Which files a list of paths stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from stallscope.errors import InputError
from stallscope.ingest.identify import is_trace

_NUMBER = re.compile(r"(\d+)")
_REPORT, _EXPORT, _PACKED = ".nsys-rep", ".sqlite", ".gz"
_TRACE_NAMES = (_REPORT, ".qdrep", ".pt.trace.json", ".pt.trace.json.gz")
"""What is called so but cannot be read is a failed rank and has to be told of."""


def rank_files(paths: Iterable[Path]) -> list[Path]:
    """Every path that is a trace, and the traces inside folders that are none, `rank10` after `rank9`.

    A report and the SQLite export that nsys left beside it are one rank, not two, and so are a packed trace and the
    unpacked one beside it.
    Raises `InputError` for a folder that neither is a trace nor holds one.
    """
    found = [file for path in paths for file in (_inside(path) if path.is_dir() else [path])]
    once: dict[Path, Path] = {}
    for file in found:
        once.setdefault(file.resolve(), file)
    return _without_twins(list(once.values()))


def _inside(folder: Path) -> list[Path]:
    if is_trace(folder):
        return [folder]
    visible = (path for path in folder.iterdir() if not path.name.startswith("."))
    found = sorted((path for path in visible if path.name.endswith(_TRACE_NAMES) or is_trace(path)), key=_natural)
    if not found:
        raise InputError(
            "a folder without any trace", file=folder.name, next_step="give the folder with the ranks' traces"
        )
    return found


def _without_twins(files: list[Path]) -> list[Path]:
    """What was made from a file takes its place, as it need not be made again, unless the file is newer."""
    given, dropped = set(files), set[Path]()
    for file in files:
        made = _made_from(file)
        if made in given and is_trace(made) and is_trace(file):
            dropped.add(made if made.stat().st_mtime < file.stat().st_mtime else file)
    return [file for file in files if file not in dropped]


def _made_from(file: Path) -> Path | None:
    """What nsys exports a report to, and what a packed trace is unpacked to."""
    if file.suffix == _REPORT:
        return file.with_suffix(_EXPORT)
    return file.with_suffix("") if file.suffix == _PACKED else None


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key in which numbers count as numbers."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(path.name)]
