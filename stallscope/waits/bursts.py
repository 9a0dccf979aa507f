"""Late launches: which came out of a burst of submissions and which after the host did something else."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import View

BURST_NS = 50_000
"""Longest host time between two API calls of one burst (an eager PyTorch operation takes 10-40 µs on a current CPU)."""


def late_launches(view: View) -> tuple[Int64Array, Int64Array]:
    """Gaps whose successor was launched late: those inside a burst, and those behind a longer stretch of host work."""
    gaps = view.gaps
    late = (gaps.launch != NO_ROW) & ~gaps.queued & ~gaps.in_graph
    long = gaps.stretch_ns > BURST_NS
    return np.flatnonzero(late & ~long), np.flatnonzero(late & long)
