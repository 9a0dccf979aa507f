"""Which files a list of paths stands for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from stallscope.errors import InputError
from stallscope.ingest.identify import identify

_NUMBER = re.compile(r"(\d+)")


def rank_files(paths: Iterable[Path]) -> list[Path]:
    """Every path that is a trace, and the traces inside folders that are none, `rank10` after `rank9`.

    Raises `InputError` for a folder that neither is a trace nor holds one.
    """
    return [file for path in paths for file in (_inside(path) if path.is_dir() else [path])]


def _inside(folder: Path) -> list[Path]:
    if _is_trace(folder):
        return [folder]
    found = sorted((p for p in folder.iterdir() if not p.name.startswith(".") and _is_trace(p)), key=_natural)
    if not found:
        raise InputError(
            "a folder without any trace", file=folder.name, next_step="give the folder with the ranks' traces"
        )
    return found


def _is_trace(path: Path) -> bool:
    try:
        identify(path)
    except InputError:
        return False
    return True


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key in which numbers count as numbers."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBER.split(path.name)]
