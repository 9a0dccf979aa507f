"""The runs a dashboard shows: loaded one after the other in the background while the pages are already usable."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
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
class Progress:
    """A stage, what is being done in it, and the finished share of that (None: unknown)."""

    stage: Stage
    note: str = ""
    fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Loaded:
    """What the pages of one run read; `notes` tell what happened on the way.

    `lanes` and `rows` are None where there are no events: for a saved report, and for several ranks together.
    """

    analysis: Analysis
    lanes: LaneTable | None = None
    rows: ChargeRows | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, analysis: Analysis, lanes: LaneTable) -> Loaded:
        """Everything about one trace."""
        return cls(analysis, lanes, ChargeRows(lanes))


Announce = Callable[[Progress], None]
LoadRun = Callable[[Sequence[Path], Announce], Loaded]


class Run:
    """One analysis with its timeline, and how far its loading is. A lazy run waits until somebody asks for it.

    `together` marks the run in which all traces stand for the ranks of one program.
    """

    def __init__(self, slug: str, title: str, paths: Sequence[Path] = ()) -> None:
        self.slug = slug
        self.title = title
        self.paths = tuple(paths)
        self.lazy = False
        self.together = False
        self.progress = Progress(Stage.WAITING)
        self.loaded: Loaded | None = None
        self.failure: StallscopeError | None = None

    @property
    def stage(self) -> Stage:
        """How far it is."""
        return self.progress.stage

    @property
    def settled(self) -> bool:
        """No change will come by itself."""
        return self.stage in {Stage.READY, Stage.FAILED} or (self.lazy and self.stage is Stage.WAITING)

    def load(self, loader: LoadRun) -> None:
        """Run the loader and keep its answer or its error."""
        self.lazy = False
        try:
            self.loaded = loader(self.paths, self._announce)
            self.progress = Progress(Stage.READY)
        except StallscopeError as error:
            self._fail(error)
        except OSError as error:
            self._fail(
                StallscopeError(f"cannot be read: {error.strerror}", file=self.title, next_step="check the path")
            )
        except Exception as error:  # noqa: BLE001 - a page reports it; the other runs go on
            self._fail(StallscopeError(f"unexpected {type(error).__name__}: {error}", file=self.title))

    def _fail(self, error: StallscopeError) -> None:
        self.failure = error
        self.progress = Progress(Stage.FAILED)

    def _announce(self, progress: Progress) -> None:
        self.progress = progress


class Workspace:
    """All runs of one dashboard. `start` returns at once; a run's `progress` tells how far it is.

    `session` tells the browser's cache this server's answers from those of an earlier one on the same port.
    """

    def __init__(self, runs: Sequence[Run], loader: LoadRun) -> None:
        if not runs:
            raise ValueError("a dashboard needs at least one run")
        self.runs = tuple(runs)
        self.session = secrets.token_hex(4)
        self._loader = loader
        self._wanted = threading.Lock()

    @classmethod
    def ready(cls, loaded: Mapping[str, Loaded]) -> Workspace:
        """A workspace of analyses that exist already, by title."""
        runs = named_runs([(title, ()) for title in loaded])
        for run, content in zip(runs, loaded.values(), strict=True):
            run.loaded = content
            run.progress = Progress(Stage.READY)
        return cls(runs, lambda _paths, _announce: Loaded(Analysis()))

    def start(self) -> None:
        """Begin loading, in the order of the runs; lazy ones stay."""
        self._load([run for run in self.runs if not run.settled])

    def want(self, run: Run) -> None:
        """Somebody looks at the run: load it if it was waiting for that."""
        with self._wanted:
            if run.lazy and run.stage is Stage.WAITING:
                run.lazy = False
                self._load([run])

    def run(self, slug: str | None) -> Run | None:
        """The run of that slug; without one, the first."""
        if not slug:
            return self.runs[0]
        return next((run for run in self.runs if run.slug == slug), None)

    @property
    def settled(self) -> bool:
        """Nothing is being loaded."""
        return all(run.settled for run in self.runs)

    def _load(self, runs: Sequence[Run]) -> None:
        def work() -> None:
            for run in runs:
                run.load(self._loader)

        threading.Thread(target=work, name="stallscope-loader", daemon=True).start()


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
