"""The timeline that a report of a trace carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import zip_longest

import numpy as np

from stallscope.model.analysis import Analysis
from stallscope.timeline.intervals import IntervalSet
from stallscope.timeline.timeline import Timeline
from stallscope.views.charges import charges_of
from stallscope.views.lane_build import build_lanes
from stallscope.views.timeline_tiles import Tiles, build

MAX_THREADS = 12
MAX_CALLS = 2_000_000
"""Laying out host threads takes longest; a report shows the busiest ones with at most this many calls together."""


def tiles_of(timeline: Timeline, charged: Mapping[int, Mapping[str, IntervalSet]], analysis: Analysis) -> Tiles:
    """Tiles of an analyzed trace, exact around the spans of its findings: the longest of each finding first."""
    threads, left_out = _threads(timeline)
    lanes = build_lanes(timeline, charges_of(timeline, charged), threads)
    ranked = [sorted(f.spans, key=lambda span: span[0] - span[1]) for f in analysis.findings]
    spans = (span for turn in zip_longest(*ranked) for span in turn if span is not None)
    return replace(build(lanes, spans), omitted_threads=left_out)


def _threads(timeline: Timeline) -> tuple[int, int]:
    """How many host threads to show, busiest first, and how many that leaves out."""
    if not len(timeline.calls):
        return MAX_THREADS, 0
    counts = np.bincount(timeline.calls.thread)
    busiest = np.sort(counts[counts > 0])[::-1]
    shown = int(np.clip(np.searchsorted(np.cumsum(busiest), MAX_CALLS, side="right"), 1, MAX_THREADS))
    return shown, max(0, len(busiest) - shown)
