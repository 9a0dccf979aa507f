"""From paths to what the pages show: analysis, account and lanes of one run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from stallscope.api import examine_trace
from stallscope.errors import InputError
from stallscope.ingest.open import open_trace
from stallscope.model.analysis import Analysis
from stallscope.views.charges import charges_of
from stallscope.views.lane_build import build_lanes
from stallscope_dashboard.workspace import Announce, Loaded, Stage

_REPORT_KEY = b'"schema_version"'


def load(paths: Sequence[Path], announce: Announce) -> Loaded:
    """Analyze one trace, or read one saved report.

    Raises `InputError` when the input cannot be read or has vanished since the command was given.
    """
    path = paths[0]
    announce(Stage.READING)
    if not path.exists():
        raise InputError("the file is no longer there", file=path.name, next_step="start the dashboard again")
    if is_report(path):
        return Loaded(read_report(path))
    trace = open_trace(path)
    announce(Stage.ANALYZING)
    found = examine_trace(trace)
    announce(Stage.INDEXING)
    return Loaded.of(found.analysis, build_lanes(found.timeline, charges_of(found.timeline, found.charges)))


def is_report(path: Path) -> bool:
    """Whether the file is a saved analysis, by its content."""
    with path.open("rb") as file:
        head = file.read(1 << 16)
    return head.lstrip()[:1] == b"{" and _REPORT_KEY in head


def read_report(path: Path) -> Analysis:
    """A saved analysis. Raises `InputError` when the document is not one."""
    try:
        return Analysis.from_json(path.read_bytes())
    except msgspec.MsgspecError as error:
        raise InputError(f"not a report of stallscope: {error}", file=path.name) from error
