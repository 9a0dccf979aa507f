"""History of analyses: what a program's step and its waits cost at which commit, and which run is the baseline.

Only the analysis document, which is built by allow-list, and what the user named (series, commit, baseline) are kept:
no paths, hosts or users.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import sqlite_utils

from stallscope.errors import InputError, UsageError
from stallscope.experiments.runs import Run
from stallscope.model.analysis import Analysis

SCHEMA = 1
APPLICATION = 0x53544C53
"""SQLite application id of a history file, so that a trace is never mistaken for one and written to."""
STEP = "step"
"""Pseudo wait id under which a trend gives the whole step."""
_BUSY_TIMEOUT_S = 20.0
_ELSEWHERE = "set STALLSCOPE_HISTORY to a file in a folder you may write to, or move the file away"
_OWNER = [("analysis", "analyses", "id")]
_TABLES: tuple[tuple[str, dict[str, type], str | tuple[str, str], list[tuple[str, str, str]]], ...] = (
    (
        "analyses",
        {
            "id": int, "series": str, "commit": str, "recorded": str, "sources": str, "sha256": str,
            "gpu": str, "driver": str, "step_ns": int, "steps": int, "document": str,
        },
        "id",
        [],
    ),
    ("waits", {"analysis": int, "wait": str, "ns": int}, ("analysis", "wait"), _OWNER),
    ("baselines", {"series": str, "name": str, "analysis": int}, ("series", "name"), _OWNER),
)  # fmt: skip
_ENTRIES = (
    'select id, series, "commit", recorded, sources, gpu, driver, step_ns, steps, '
    "(select group_concat(name, ',') from baselines where analysis = analyses.id) as baselines "
    "from analyses where :series is null or series = :series order by recorded desc, id desc limit :limit"
)
_FIND = (
    "select document from analyses left join baselines on baselines.analysis = analyses.id "
    "where (:series is null or analyses.series = :series) and (baselines.name = :reference "
    'or (length(:reference) >= 4 and substr("commit", 1, length(:reference)) = :reference) '
    "or cast(analyses.id as text) = :reference) "
    "order by coalesce(baselines.name = :reference, 0) desc, recorded desc, analyses.id desc limit 1"
)
_MAX_LABEL = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded analysis. Times are nanoseconds a step (a window where the run had no steps)."""

    id: int
    series: str
    commit: str
    recorded: str
    sources: str
    gpu: str
    driver: str
    step_ns: int
    steps: int
    baselines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """Cost of one wait id, or of the step, in one recorded analysis."""

    entry: Entry
    ns: int


class History:
    """The history file. Use it as a context: `with History.open(path) as history`."""

    def __init__(self, database: sqlite_utils.Database) -> None:
        self._database = database

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[History]:
        """Open or create. Raises `InputError` when the file is no history of this version or cannot be used."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unusable(path, error) from error
        connection = None
        try:
            connection = sqlite3.connect(path, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
            history = cls(sqlite_utils.Database(connection))
            history._prepare(path)
            yield history
        except sqlite3.Error as error:
            raise _unusable(path, error) from error
        finally:
            if connection is not None:
                connection.close()

    def _prepare(self, path: Path) -> None:
        kind = self._database.execute("pragma application_id").fetchone()[0]
        if kind != APPLICATION and self._database.table_names():
            raise InputError("another program's database", file=path.name, next_step=_ELSEWHERE)
        version = self._database.execute("pragma user_version").fetchone()[0]
        if version > SCHEMA:
            message = f"written by a newer stallscope (history version {version}, this one reads {SCHEMA})"
            raise InputError(message, file=path.name, next_step="update stallscope")
        if version == SCHEMA:
            return
        for name, columns, key, foreign in _TABLES:
            self._database.table(name).create(columns, pk=key, foreign_keys=foreign, if_not_exists=True)
        self._database.table("analyses").create_index(["series", "recorded"], if_not_exists=True)
        self._database.execute(f"pragma application_id = {APPLICATION}")
        self._database.execute(f"pragma user_version = {SCHEMA}")

    def add(self, analysis: Analysis, series: str, commit: str = "", recorded: datetime | None = None) -> int:
        """Record an analysis; returns its id. Recording the same trace, series and commit again returns the old id."""
        run = Run(analysis)
        sha256 = "+".join(source.sha256 for source in analysis.sources)
        known = self._database.execute(
            'select id from analyses where series = ? and "commit" = ? and sha256 = ? and sha256 != ?',
            (series, commit, sha256, ""),
        ).fetchone()
        if known:
            return int(known[0])
        durations = run.durations()
        row = {
            "series": _label(series, "series"),
            "commit": _label(commit, "commit") if commit else "",
            "recorded": (recorded or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
            "sources": run.label,
            "sha256": sha256,
            "gpu": run.environment.get("gpu", ""),
            "driver": run.environment.get("driver", ""),
            "step_ns": round(float(durations.mean())) if len(durations) else 0,
            "steps": run.step_count if run.steps else 0,
            "document": msgspec.json.encode(analysis, order="deterministic").decode(),
        }
        waits = {wait: round(float(run.charged(wait).mean())) for wait in sorted(run.charged_ids)}
        columns, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
        with self._transaction():
            insert = f"insert into analyses ({columns}) values ({marks})"  # noqa: S608 - names from above
            added = int(self._database.execute(insert, tuple(row.values())).lastrowid or 0)
            for wait, ns in waits.items():
                if ns:
                    self._database.execute("insert into waits values (?, ?, ?)", (added, wait, ns))
        return added

    def entries(self, series: str | None = None, limit: int = 50) -> tuple[Entry, ...]:
        """Recorded analyses, newest first."""
        rows = self._database.query(_ENTRIES, {"series": series, "limit": limit})
        return tuple(_entry(row) for row in rows)

    def trend(self, series: str, wait: str = STEP, limit: int = 1000) -> tuple[TrendPoint, ...]:
        """Cost of a wait id (or of the step) over the series, oldest first; an id that was not charged costs 0."""
        rows = self._database.query("select analysis, ns from waits where wait = ?", [wait])
        costs = {row["analysis"]: row["ns"] for row in rows}
        entries = reversed(self.entries(series, limit))
        return tuple(TrendPoint(e, e.step_ns if wait == STEP else int(costs.get(e.id, 0))) for e in entries)

    def set_baseline(self, name: str, analysis: int) -> None:
        """Give an analysis a name within its series; the name moves when it was another one's."""
        entry = self._row(analysis)
        row = (entry["series"], _label(name, "baseline"), analysis)
        self._database.execute("insert or replace into baselines values (?, ?, ?)", row)

    def find(self, reference: str, series: str | None = None) -> Analysis:
        """An analysis by baseline name, commit (a beginning of at least four characters), or id; newest wins.

        Raises `UsageError` when there is none.
        """
        found = list(self._database.query(_FIND, {"reference": reference, "series": series}))
        if not found:
            raise UsageError(
                f"no analysis {reference!r} in the history", next_step="stallscope history list shows what there is"
            )
        try:
            return Analysis.from_json(found[0]["document"])
        except msgspec.DecodeError as error:
            next_step = "stallscope history forget it, and record the run again"
            raise InputError(f"a recorded analysis cannot be read: {error}", next_step=next_step) from error

    def forget(self, analysis: int) -> None:
        """Delete an analysis, its waits and its names."""
        self._row(analysis)
        with self._transaction():
            self._database.execute("delete from waits where analysis = ?", (analysis,))
            self._database.execute("delete from baselines where analysis = ?", (analysis,))
            self._database.execute("delete from analyses where id = ?", (analysis,))

    def _row(self, analysis: int) -> dict[str, Any]:
        rows = list(self._database.query("select id, series from analyses where id = ?", [analysis]))
        if not rows:
            raise UsageError(f"no analysis {analysis} in the history", next_step="stallscope history list")
        return dict(rows[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._database.execute("rollback")
            raise
        self._database.execute("commit")


def _unusable(path: Path, error: Exception) -> InputError:
    return InputError(f"the history cannot be used: {error}", file=path.name, next_step=_ELSEWHERE)


def _entry(row: dict[str, Any]) -> Entry:
    names = row.pop("baselines") or ""
    return Entry(**row, baselines=tuple(sorted(filter(None, names.split(",")))))


def _label(text: str, what: str) -> str:
    if not text.strip() or len(text) > _MAX_LABEL or not text.isprintable():
        raise UsageError(
            f"not a usable {what}: {text[:40]!r}", next_step=f"use up to {_MAX_LABEL} printable characters"
        )
    return text
