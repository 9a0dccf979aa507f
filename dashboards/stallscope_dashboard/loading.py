"""From paths to what the pages show: analysis, account and lanes of one run."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import msgspec

import stallscope
from stallscope.errors import InputError
from stallscope.ingest.cache import TraceCache, cache_folder
from stallscope.ingest.open import OpenOptions
from stallscope.model.analysis import Analysis
from stallscope_dashboard.lane_store import DamagedEntryError, LaneStore
from stallscope_dashboard.sources import is_report, trace_and_counters
from stallscope_dashboard.workspace import Announce, Loaded, Progress, Stage

REBUILT = "The cache of {name} was damaged; it has been removed and made again."

_BEHIND_AN_ENTRY = ("model", "ingest", "timeline", "waits", "kernels", "experiments", "views")

_log = logging.getLogger(__name__)


class Loader:
    """Loads runs with the given way of opening traces; called with the run's paths in the background."""

    def __init__(self, opening: OpenOptions | None = None) -> None:
        self._opening = opening or OpenOptions()

    def __call__(self, paths: Sequence[Path], announce: Announce) -> Loaded:
        """Analyze a trace (with counters beside it), the ranks of one run, or read a saved report.

        Raises `InputError` when an input cannot be read or has vanished since the command was given.
        """
        announce(Progress(Stage.READING))
        for path in paths:
            if not path.exists():
                raise InputError("the file is no longer there", file=path.name, next_step="start the dashboard again")
        if len(paths) == 1 and is_report(paths[0]):
            return Loaded(read_report(paths[0]))
        traces, counters = trace_and_counters(paths)
        if len(traces) != 1:
            return Loaded(self._together(paths, announce))
        return self._kept(traces[0], counters, announce)

    def _together(self, paths: Sequence[Path], announce: Announce) -> Analysis:
        """All ranks, or counters without a trace: conclusions without a timeline."""
        from stallscope.api import Options, analyze

        announce(Progress(Stage.ANALYZING))
        return analyze(list(paths), Options(opening=self._heard(announce, Stage.ANALYZING)))

    def _kept(self, trace: Path, counters: Sequence[Path], announce: Announce) -> Loaded:
        """From the cache when it has the run, else made now and kept."""
        if not self._opening.use_cache:
            return self._made(trace, counters, announce)
        folder = cache_folder(self._opening.cache_dir)
        store, key = LaneStore(folder), _key(TraceCache(folder), (trace, *counters))
        notes: tuple[str, ...] = ()
        try:
            found = store.load(key)
        except DamagedEntryError:
            notes = (REBUILT.format(name=trace.name),)
            _log.warning("%s", notes[0])
            found = None
        if found is not None:
            return Loaded.of(*found)
        loaded = self._made(trace, counters, announce)
        if loaded.lanes is not None:
            store.save(key, loaded.analysis, loaded.lanes)
        # Mapped columns take the place of those in memory, which can then be given back.
        kept = store.load(key)
        return replace(Loaded.of(*kept) if kept else loaded, notes=notes)

    def _made(self, path: Path, counters: Sequence[Path], announce: Announce) -> Loaded:
        # The whole analysis is imported when it is needed; a start from the cache never needs it.
        from stallscope.api import Options, analyze, examine_trace
        from stallscope.ingest.open import open_trace
        from stallscope.views.charges import charges_of
        from stallscope.views.lane_build import build_lanes

        opening = self._heard(announce, Stage.READING)
        trace = open_trace(path, opening)
        announce(Progress(Stage.ANALYZING))
        found = examine_trace(trace)
        analysis = analyze([path, *counters], Options(opening=opening)) if counters else found.analysis
        announce(Progress(Stage.INDEXING))
        charges = charges_of(found.timeline, found.charges)
        return Loaded.of(analysis, build_lanes(found.timeline, charges))

    def _heard(self, announce: Announce, stage: Stage) -> OpenOptions:
        def hear(note: str, fraction: float | None) -> None:
            announce(Progress(stage, note, fraction))

        return replace(self._opening, progress=hear)


def read_report(path: Path) -> Analysis:
    """A saved analysis. Raises `InputError` when the document is not one."""
    try:
        return Analysis.from_json(path.read_bytes())
    except msgspec.MsgspecError as error:
        raise InputError(f"not a report of stallscope: {error}", file=path.name) from error


def _key(cache: TraceCache, paths: Sequence[Path]) -> str:
    contents = [cache.sha256([path] if path.is_file() else sorted(path.iterdir())) for path in paths]
    return hashlib.sha256("\0".join([*contents, code_version()]).encode()).hexdigest()[:40]


@lru_cache(maxsize=1)
def code_version() -> str:
    """Changes with every change of the code behind an entry: what other rules concluded is not shown again."""
    digest = hashlib.blake2b(digest_size=8)
    package = Path(stallscope.__file__).parent
    for folder in _BEHIND_AN_ENTRY:
        for file in sorted((package / folder).rglob("*.py")):
            status = file.stat()
            digest.update(f"{file.name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
