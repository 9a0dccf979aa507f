"""From paths and settings to an analysis, with progress on stderr."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stallscope import settings
from stallscope.cli._progress import StageProgress
from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.model.analysis import Analysis
    from stallscope.settings import Settings


def load_settings(flags: Mapping[str, Any]) -> Settings:
    """Settings of this run: the flags that name a setting, then environment, file and defaults."""
    known = {name: value for name, value in flags.items() if name in settings.Settings.__struct_fields__}
    return settings.load(known, os.environ, Path.cwd())


def analyze_whole(path: str) -> Analysis:
    """The analysis of one trace without any restriction, keeping small findings."""
    return analyze((path,), load_settings({"all": True}))


def analyze(
    paths: tuple[str, ...], chosen: Settings, range_ns: tuple[int, int] | None = None, device: int | None = None
) -> Analysis:
    """Analyze the paths together. Raises what `stallscope.api` raises."""
    from stallscope.api import analyze_trace
    from stallscope.ingest.open import OpenOptions, open_trace
    from stallscope.timeline.timeline import Scope

    if len(paths) != 1:
        raise UsageError("several traces at once are not supported yet", next_step="analyze them one by one")
    with StageProgress() as progress:
        options = OpenOptions(nsys=chosen.nsys, use_cache=chosen.cache, progress=progress)
        trace = open_trace(Path(paths[0]), options)
        progress("diagnose", None)
        scope = Scope(nvtx=chosen.nvtx, range_ns=range_ns, device=device)
        return analyze_trace(trace, scope, everything=chosen.all)
