"""What the readers may answer to a damaged input: a trace, or an error that says what to do. Nothing else."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stallscope.api import analyze_trace
from stallscope.errors import StallscopeError
from stallscope.ingest.ncu_csv import read_ncu_csv
from stallscope.ingest.ncu_rep import read_ncu_rep
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.analysis import Analysis, Source
from stallscope.model.trace import Trace
from stallscope.reporters.base import reporter
from stallscope.reporters.formats import format_names
from stallscope.views.headline import Verdict, headline

FRESH = OpenOptions(use_cache=False)
SMALLEST_JUDGED = 10
"""A trace with fewer device operations than this may not be called healthy."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset({"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.truncate"})


class WrongAnswerError(AssertionError):
    """A reader answered what it must not."""


def trace_answer(path: Path, *, depth: int = 0) -> str:
    """`refused`, or `read` (and, from depth 1, the verdict). Depth 1 runs the rules, depth 2 renders the reports."""
    try:
        trace = open_trace(path, FRESH)
        if not depth:
            return "read"
        analysis = analyze_trace(trace, everything=True)
    except StallscopeError as refusal:
        return _refusal(refusal)
    _require_sound(analysis, trace)
    if depth > 1:
        for name in format_names():
            reporter(name).render(analysis, io.StringIO())
    return f"read: {headline(analysis).verdict.value}"


def counters_answer(data: bytes, format_: str = "ncu-csv") -> str:
    """`refused`, or `read` with at least one kernel that has a metric; of pages (`ncu-csv`) or reports (`ncu-rep`)."""
    read = read_ncu_csv if format_ == "ncu-csv" else read_ncu_rep
    try:
        counters = read(data, Source(name=f"damaged.{format_}", sha256="", format=format_))
    except StallscopeError as refusal:
        return _refusal(refusal)
    if not counters.kernels or not all(kernel.metrics for kernel in counters.kernels):
        raise WrongAnswerError("an empty set of counters instead of a refusal")
    return "read"


def _refusal(refusal: StallscopeError) -> str:
    if not refusal.what or not refusal.file:
        raise WrongAnswerError(f"an error that names neither problem nor file: {refusal!r}")
    if refusal.exit_code not in {3, 4}:
        raise WrongAnswerError(f"exit code {refusal.exit_code} for an unreadable input: {refusal}")
    return "refused"


def _require_sound(analysis: Analysis, trace: Trace) -> None:
    failed = [f"{check.wait}: {check.reason}" for check in analysis.checks if check.outcome == "failed"]
    if failed:
        raise WrongAnswerError(f"a rule failed: {failed}")
    for device in analysis.devices:
        if sum(device.ledger.values()) != device.window_ns or min(device.ledger.values()) < 0:
            raise WrongAnswerError(f"ledger of {device.device}: {device.ledger} for {device.window_ns} ns")
    if headline(analysis).verdict is Verdict.HEALTHY:
        _require_substance(analysis, trace)


def _require_substance(analysis: Analysis, trace: Trace) -> None:
    from stallscope.model.events import Copies, GraphRuns, Kernels, Memsets

    kinds = (Kernels, Copies, Memsets, GraphRuns)
    work = sum(len(table) for kind in kinds if (table := trace.table(kind)) is not None)
    if work < SMALLEST_JUDGED:
        raise WrongAnswerError(f"healthy on {work} device operations")
    if any(note.id == "env.dropped_events" for note in analysis.capture.notes):
        raise WrongAnswerError("healthy although events were lost")


@contextmanager
def nothing_written_outside(folder: Path) -> Iterator[list[str]]:
    """Collects every file operation of Python code that would change something outside `folder`."""
    seen: list[str] = []
    allowed = (str(folder.resolve()), os.devnull)
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and (event in _CHANGES or (event == "open" and _writes(arguments))):
            place = arguments[0]
            if isinstance(place, (str, bytes, os.PathLike)):
                text = os.path.abspath(os.fsdecode(place))  # noqa: PTH100 - a hook must not open anything
                if not text.startswith(allowed):
                    seen.append(f"{event} {text}")

    sys.addaudithook(watch)  # hooks cannot be taken away again, only told to look elsewhere
    try:
        yield seen
    finally:
        watching = False


def _writes(arguments: tuple[Any, ...]) -> bool:
    _, mode, flags = arguments
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITING)
