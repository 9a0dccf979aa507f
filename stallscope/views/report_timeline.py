"""The timeline that a report of a trace carries."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest

from stallscope.model.analysis import Analysis
from stallscope.timeline.intervals import IntervalSet
from stallscope.timeline.timeline import Timeline
from stallscope.views.charges import charges_of
from stallscope.views.lane_build import build_lanes
from stallscope.views.timeline_tiles import Tiles, build


def tiles_of(timeline: Timeline, charged: Mapping[int, Mapping[str, IntervalSet]], analysis: Analysis) -> Tiles:
    """Tiles of an analyzed trace, exact around the spans of its findings: the longest of each finding first."""
    lanes = build_lanes(timeline, charges_of(timeline, charged))
    ranked = [sorted(f.spans, key=lambda span: span[0] - span[1]) for f in analysis.findings]
    spans = (span for turn in zip_longest(*ranked) for span in turn if span is not None)
    return build(lanes, spans)
