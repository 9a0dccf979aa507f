"""Idle time during which the launching thread was inside some span on the host, outside any API call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Column
from stallscope.model.events import Span
from stallscope.timeline.calls import CallIndex, HostCalls, SpanIndex, ThreadClock
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array, IntervalSet, expand, positions, union
from stallscope.waits.base import Claims, View
from stallscope.waits.claims import claim_gaps


def claim_host_spans(view: View, spans: Span, thread: npt.NDArray[np.int32]) -> Claims:
    """Claims on the host parts of late gaps that the spans of the launching thread cover and no API call does.

    `thread` gives the thread of each span. Up to the launch call the device waits for the host, whatever the host does
    there; so these claims compete only with other explanations of the same host time.
    """
    gaps = view.gaps
    late = np.flatnonzero(_late(view) & (gaps.read("host_end_ns") > gaps.read("start_ns")))
    gap, start, end = _inside(view, late, Gaps.host_end_ns, _disjoint(spans, thread))
    piece, start, end = _outside_calls(view.calls, gaps.thread[gap], start, end)
    return claim_gaps(view, gap[piece], start, end)


def claim_inside(view: View, spans: Span, thread: npt.NDArray[np.int32]) -> Claims:
    """Claims on late gaps wherever the spans of the launching thread cover them, API calls included."""
    return claim_gaps(view, *_inside(view, np.flatnonzero(_late(view)), Gaps.end_ns, _disjoint(spans, thread)))


_Pieces = tuple[Int64Array, Int64Array, Int64Array]
"""Row that a piece of time belongs to, start, end."""


def _late(view: View) -> npt.NDArray[np.bool_]:
    gaps = view.gaps
    return np.asarray((gaps.thread != NO_ROW) & ~gaps.queued & ~gaps.in_graph)


def _disjoint(spans: Span, thread: npt.NDArray[np.int32]) -> SpanIndex:
    """Union of the spans of every thread."""
    clock = ThreadClock.of(spans.start_ns, spans.end_ns)
    merged = union(clock.place(thread, spans.start_ns), clock.place(thread, spans.end_ns))
    owner, start = clock.read(merged.starts)
    return SpanIndex(owner, start, start + (merged.ends - merged.starts))


def _inside(view: View, late: Int64Array, ends: Column[np.int64], spans: SpanIndex) -> _Pieces:
    """The parts of late gaps, up to `ends`, that the spans of their threads cover."""
    gaps = view.gaps
    start, end = gaps.at(Gaps.start_ns, late), gaps.at(ends, late)
    row, span = spans.overlapping(gaps.thread[late], start, end)
    return late[row], np.maximum(start[row], spans.starts[span]), np.minimum(end[row], spans.ends[span])


def _outside_calls(calls: HostCalls, thread: npt.NDArray[np.int32], start: Int64Array, end: Int64Array) -> _Pieces:
    """The parts of each span outside the thread's API calls."""
    outer = CallIndex(calls, np.flatnonzero(calls.outer & (calls.end_ns > calls.start_ns)))
    row, call = outer.overlapping(thread, start, end)
    # k calls leave k + 1 parts: from the span's start or a call's end to the next call's start or the span's end.
    every = np.arange(len(start))
    before, after = (
        np.argsort(np.concatenate((every, row)), kind="stable"),
        np.argsort(np.concatenate((row, every)), kind="stable"),
    )
    low = np.concatenate((start, calls.end_ns[call]))[before]
    high = np.concatenate((calls.start_ns[call], end))[after]
    owner = np.concatenate((every, row))[before]
    left = np.flatnonzero(high > low)
    return owner[left], low[left], high[left]


def cut(starts: Int64Array, ends: Int64Array, by: IntervalSet) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Non-empty intersections of each span with the set: (row of the span, start, end)."""
    first, after = positions(by.ends, starts, "right"), positions(by.starts, ends)
    row, part = expand(first, after)
    return row, np.maximum(starts[row], by.starts[part]), np.minimum(ends[row], by.ends[part])
