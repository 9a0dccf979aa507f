"""From paths and settings to an analysis, with progress on stderr."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stallscope import settings
from stallscope.cli._progress import StageProgress

if TYPE_CHECKING:
    from stallscope.api import Examination
    from stallscope.ingest.open import OpenOptions
    from stallscope.ingest.progress import Progress
    from stallscope.model.analysis import Analysis
    from stallscope.model.scope import Scope
    from stallscope.settings import Settings


def load_settings(flags: Mapping[str, Any]) -> Settings:
    """Settings of this run: the flags that name a setting, then environment, file and defaults."""
    known = {name: value for name, value in flags.items() if name in settings.Settings.__struct_fields__}
    return settings.load(known, os.environ, Path.cwd())


def analyze_whole(path: str) -> Analysis:
    """The analysis of one trace without any restriction, keeping small findings."""
    return analyze((path,), load_settings({"all": True}))


def analyze(paths: Sequence[str], chosen: Settings, scope: Scope | None = None) -> Analysis:
    """Analyze the paths together. Raises what `stallscope.api.analyze` raises."""
    file = only_trace(paths)
    if file is not None:
        return examine(file, chosen, scope).analysis
    from stallscope import api
    from stallscope.model.scope import WHOLE

    with StageProgress() as progress:
        options = api.Options(scope or WHOLE, _opening(chosen, progress), chosen.all, chosen.scheduler)
        return api.analyze([_named(path) for path in paths], options)


def only_trace(paths: Sequence[str]) -> Path | None:
    """The trace, where the paths stand for one trace of a timeline and nothing else."""
    from stallscope.ingest.identify import is_ncu
    from stallscope.ingest.paths import rank_files

    given = [_named(path) for path in paths]
    files = [] if any(map(is_ncu, given)) else rank_files(given)
    return files[0] if len(files) == 1 else None


def examine(path: str | Path, chosen: Settings, scope: Scope | None = None) -> Examination:
    """Analyze one trace and keep its timeline, for reports that draw it."""
    from stallscope.cli._ahead import importing
    from stallscope.ingest.open import open_trace
    from stallscope.model.scope import WHOLE

    file = _named(path)
    with StageProgress() as progress:
        trace = open_trace(file, _opening(chosen, importing(file, progress)))
        from stallscope.api import examine_trace

        return examine_trace(trace, scope or WHOLE, everything=chosen.all)


def _opening(chosen: Settings, progress: Progress) -> OpenOptions:
    from stallscope.ingest.open import OpenOptions

    return OpenOptions(chosen.nsys, chosen.cache, chosen.cache_dir, progress)


def _named(path: str | Path) -> Path:
    """The path; `.` and `..` get the name that messages need."""
    given = Path(path)
    return given if given.name not in ("", "..") else given.resolve()
