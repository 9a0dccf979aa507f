"""Which runs the paths of a command line make."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stallscope.errors import InputError
from stallscope.ingest.identify import identify
from stallscope_dashboard.workspace import Run, named_runs

COUNTERS = frozenset({"ncu-csv", "ncu-rep"})
_REPORT_KEY = b'"schema_version"'
_HEAD_BYTES = 1 << 16


def runs_of(paths: Sequence[Path]) -> tuple[Run, ...]:
    """One run a trace (each with all counters) or saved report, and one of all traces as the ranks of one run.

    The last one is loaded when somebody asks for it. Raises `InputError` for a path that does not exist: the server
    opens nothing but what is named here.
    """
    for path in paths:
        if not path.exists():
            raise InputError("no such file", file=path.name, next_step="check the path")
    reports = [path for path in paths if is_report(path)]
    traces, counters = trace_and_counters([path for path in paths if path not in reports])
    sources: list[tuple[str, list[Path]]] = [(trace.name, [trace, *counters]) for trace in traces]
    if counters and not traces:
        sources.append((" + ".join(path.name for path in counters), counters))
    sources += [(report.name, [report]) for report in reports]
    if len(traces) > 1:
        sources.append((f"all {len(traces)} traces as ranks", [*traces, *counters]))
    runs = named_runs(sources)
    if len(traces) > 1:
        runs[-1].lazy = runs[-1].together = True
    return runs


def trace_and_counters(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Traces, and the Nsight Compute results beside them; what cannot be told counts as a trace and says so later."""
    counters = [path for path in paths if _is_counters(path)]
    return [path for path in paths if path not in counters], counters


def is_report(path: Path) -> bool:
    """Whether the file is a saved analysis, by its content."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return head.lstrip()[:1] == b"{" and _REPORT_KEY in head


def _is_counters(path: Path) -> bool:
    try:
        return identify(path) in COUNTERS
    except InputError:
        return False
