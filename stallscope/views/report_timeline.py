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
MAX_THREADS_OF_MANY = 4
MANY_CALLS = 1_000_000


def tiles_of(timeline: Timeline, charged: Mapping[int, Mapping[str, IntervalSet]], analysis: Analysis) -> Tiles:
    """Tiles of an analyzed trace, exact around the spans of its findings: the longest of each finding first.

    The busiest host threads are shown; of a trace with very many calls fewer, because laying them out takes longest.
    """
    calls = len(timeline.calls)
    threads = MAX_THREADS if calls <= MANY_CALLS else MAX_THREADS_OF_MANY
    lanes = build_lanes(timeline, charges_of(timeline, charged), threads)
    left_out = max(0, len(np.unique(timeline.calls.thread)) - threads) if calls else 0
    ranked = [sorted(f.spans, key=lambda span: span[0] - span[1]) for f in analysis.findings]
    spans = (span for turn in zip_longest(*ranked) for span in turn if span is not None)
    return replace(build(lanes, spans), omitted_threads=left_out)
