"""Runs of the history that the user recorded earlier; the dashboard only reads it, and never makes the file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stallscope.errors import StallscopeError
from stallscope.model.analysis import Analysis
from stallscope.store.location import history_file

if TYPE_CHECKING:
    from stallscope.store.history import Entry

MAX_RECORDED = 30


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One recorded analysis under the title a menu shows."""

    id: int
    title: str
    entry: Entry


def recorded_runs() -> tuple[RecordedRun, ...]:
    """The newest recorded runs; none when there is no history or it cannot be read."""
    path = history_file(os.environ)
    if not path.is_file():
        return ()
    from stallscope.store.history import History  # takes pandas along: a start without a history does not need it

    try:
        with History.open(path) as history:
            return tuple(RecordedRun(e.id, _title(e), e) for e in history.entries(limit=MAX_RECORDED))
    except StallscopeError:
        return ()


def recorded_analysis(number: str) -> Analysis | None:
    """The recorded analysis of that number; None when there is none or it cannot be read."""
    path = history_file(os.environ)
    if not path.is_file():
        return None
    from stallscope.store.history import History

    try:
        with History.open(path) as history:
            return history.find(number)
    except StallscopeError:
        return None


def _title(entry: Entry) -> str:
    names = f" ({', '.join(entry.baselines)})" if entry.baselines else ""
    commit = f" at {entry.commit[:10]}" if entry.commit else ""
    return f"{entry.series}{commit}, {entry.recorded[:16].replace('T', ' ')}{names}"
