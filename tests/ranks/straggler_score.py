"""Runs the whole analysis on simulated traces and reads the stragglers out of its titles."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from stallscope.api import Examination, examine_trace
from stallscope.model.analysis import Analysis
from stallscope.model.trace import Trace
from stallscope.ranks import compare_ranks


def analyzed(traces: Sequence[Trace]) -> Analysis:
    """All ranks, in this process."""
    by_path = {Path(trace.source.name): trace for trace in traces}

    def examine(path: Path) -> Examination:
        return examine_trace(by_path[path])

    return compare_ranks(list(by_path), examine, workers=1)


def named_ranks(traces: Sequence[Trace]) -> set[int | None]:
    """Ranks that a comm.peer_wait finding names as late."""
    return {
        int(number)
        for finding in analyzed(traces).findings
        if finding.wait == "comm.peer_wait"
        for number in re.findall(r"\d+", finding.title.partition(" for ")[2].partition(",")[0])
    }
