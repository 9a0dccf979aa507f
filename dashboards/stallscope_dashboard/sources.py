"""Which runs the paths of a command line make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stallscope.errors import InputError
from stallscope_dashboard.workspace import Run, named_runs


def runs_of(paths: Sequence[Path]) -> tuple[Run, ...]:
    """One run a trace or saved report.

    Raises `InputError` for a path that does not exist: the server opens nothing but what is named here.
    """
    for path in paths:
        if not path.exists():
            raise InputError("no such file", file=path.name, next_step="check the path")
    return named_runs([(path.name, [path]) for path in paths])
