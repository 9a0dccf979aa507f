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
    from stallscope.model.analysis import Analysis
    from stallscope.settings import Settings
    from stallscope.timeline.timeline import Scope


def load_settings(flags: Mapping[str, Any]) -> Settings:
    """Settings of this run: the flags that name a setting, then environment, file and defaults."""
    known = {name: value for name, value in flags.items() if name in settings.Settings.__struct_fields__}
    return settings.load(known, os.environ, Path.cwd())


def analyze_whole(path: str) -> Analysis:
    """The analysis of one trace without any restriction, keeping small findings."""
    return analyze((path,), load_settings({"all": True}))


def analyze(paths: Sequence[str], chosen: Settings, scope: Scope | None = None) -> Analysis:
    """Analyze the paths together. Raises what `stallscope.api.analyze` raises."""
    from stallscope import api
    from stallscope.timeline.timeline import WHOLE

    with StageProgress() as progress:
        options = api.Options(scope or WHOLE, _opening(chosen, progress), chosen.all, chosen.scheduler)
        return api.analyze([_named(path) for path in paths], options)


def examine(path: str, chosen: Settings, scope: Scope | None = None) -> Examination:
    """Analyze one trace and keep its timeline, for reports that draw it."""
    from stallscope.api import examine_trace
    from stallscope.ingest.open import open_trace
    from stallscope.timeline.timeline import WHOLE

    with StageProgress() as progress:
        trace = open_trace(_named(path), _opening(chosen, progress))
        return examine_trace(trace, scope or WHOLE, everything=chosen.all)


def _opening(chosen: Settings, progress: StageProgress) -> OpenOptions:
    from stallscope.ingest.open import OpenOptions

    return OpenOptions(chosen.nsys, chosen.cache, chosen.cache_dir, progress)


def _named(path: str) -> Path:
    """The path; `.` and `..` get the name that messages need."""
    given = Path(path)
    return given if given.name not in ("", "..") else given.resolve()
