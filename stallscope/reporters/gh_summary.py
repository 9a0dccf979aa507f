"""Markdown for a GitHub job summary, which is lost as a whole when the job's summaries exceed 1024 KiB together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from stallscope.gates import GateResult
from stallscope.model.analysis import Analysis
from stallscope.reporters.markdown import MarkdownReporter

MAX_BYTES = 900 * 1024
SUMMARY_FILE = "GITHUB_STEP_SUMMARY"


class GithubSummaryReporter:
    """The Markdown report within what is left of the summary's size after `written_bytes` of other steps."""

    name = "gh-summary"
    suffix = ".md"

    def __init__(self, gates: Sequence[GateResult] = (), *, written_bytes: int | None = None) -> None:
        self._gates = gates
        self._written_bytes = written_bytes

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the summary."""
        written = already_written(os.environ) if self._written_bytes is None else self._written_bytes
        MarkdownReporter(self._gates, limit=max(0, MAX_BYTES - written), measure=_bytes).render(analysis, out)


def already_written(environment: Mapping[str, str]) -> int:
    """Size of this step's summary file, 0 outside GitHub Actions."""
    path = environment.get(SUMMARY_FILE)
    return Path(path).stat().st_size if path and Path(path).is_file() else 0


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


REPORTER = GithubSummaryReporter()
