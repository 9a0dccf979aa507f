"""The runs a dashboard shows: loaded one after the other in the background while the pages are already usable."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from stallscope.errors import StallscopeError
from stallscope.model.analysis import Analysis
from stallscope.views.charge_query import ChargeRows
from stallscope.views.lanes import LaneTable


class Stage(IntEnum):
    """How far a run is."""

    WAITING = 0
    READING = 1
    ANALYZING = 2
    INDEXING = 3
    READY = 4
    FAILED = 5


STAGE_TEXT: dict[Stage, str] = {
    Stage.WAITING: "waiting for its turn",
    Stage.READING: "reading the trace",
    Stage.ANALYZING: "accounting for every nanosecond",
    Stage.INDEXING: "indexing the timeline",
    Stage.READY: "ready",
    Stage.FAILED: "could not be loaded",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the pages of one run read. `lanes` and `rows` are None for a saved report, which has no events."""

    analysis: Analysis
    lanes: LaneTable | None = None
    rows: ChargeRows | None = None

    @classmethod
    def of(cls, analysis: Analysis, lanes: LaneTable) -> Loaded:
        """Everything about a trace."""
        return cls(analysis, lanes, ChargeRows(lanes))


Announce = Callable[[Stage], None]
Loader = Callable[[Sequence[Path], Announce], Loaded]


class Run:
    """One analysis with its timeline, and how far its loading is."""

    def __init__(self, slug: str, title: str, paths: Sequence[Path]) -> None:
        self.slug = slug
        self.title = title
        self.paths = tuple(paths)
        self.stage = Stage.WAITING
        self.loaded: Loaded | None = None
        self.failure: StallscopeError | None = None

    @property
    def settled(self) -> bool:
        """No further change will come."""
        return self.stage in {Stage.READY, Stage.FAILED}

    def load(self, loader: Loader) -> None:
        """Run the loader and keep its answer or its error."""
        try:
            self.loaded = loader(self.paths, self._announce)
            self.stage = Stage.READY
        except StallscopeError as error:
            self.failure = error
            self.stage = Stage.FAILED
        except Exception as error:  # noqa: BLE001 - a page reports it; the other runs go on
            self.failure = StallscopeError(f"unexpected {type(error).__name__}: {error}", file=self.title)
            self.stage = Stage.FAILED

    def _announce(self, stage: Stage) -> None:
        self.stage = stage


class Workspace:
    """All runs of one dashboard. `start` returns at once; `stage` of every run tells how far it is.

    `session` tells the browser's cache this server's answers from those of an earlier one on the same port.
    """

    def __init__(self, runs: Sequence[Run], loader: Loader) -> None:
        if not runs:
            raise ValueError("a dashboard needs at least one run")
        self.runs = tuple(runs)
        self.session = secrets.token_hex(4)
        self._loader = loader
        self._thread = threading.Thread(target=self._load_all, name="stallscope-loader", daemon=True)

    @classmethod
    def ready(cls, loaded: dict[str, Loaded]) -> Workspace:
        """A workspace of analyses that exist already."""
        runs = named_runs([(title, ()) for title in loaded])
        for run, content in zip(runs, loaded.values(), strict=True):
            run.load(lambda _paths, _announce, content=content: content)  # type: ignore[misc]
        return cls(runs, lambda _paths, _announce: Loaded(Analysis()))

    def start(self) -> None:
        """Begin loading, in the order of the runs."""
        self._thread.start()

    def run(self, slug: str | None) -> Run | None:
        """The run of that slug; without one, the first."""
        if not slug:
            return self.runs[0]
        return next((run for run in self.runs if run.slug == slug), None)

    @property
    def settled(self) -> bool:
        """Every run is ready or failed."""
        return all(run.settled for run in self.runs)

    def _load_all(self) -> None:
        for run in self.runs:
            if not run.settled:
                run.load(self._loader)


def named_runs(sources: Sequence[tuple[str, Sequence[Path]]]) -> tuple[Run, ...]:
    """Runs with slugs that are unique, readable and free of characters a URL would escape."""
    taken: set[str] = set()
    runs = []
    for title, paths in sources:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", title).strip("-.") or "run"
        slug, number = stem, 2
        while slug in taken:
            slug, number = f"{stem}-{number}", number + 1
        taken.add(slug)
        runs.append(Run(slug, title, paths))
    return tuple(runs)
