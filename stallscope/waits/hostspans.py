"""Idle time during which the launching thread was inside some span on the host, outside any API call."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Span
from stallscope.timeline.calls import ThreadClock
from stallscope.timeline.intervals import Int64Array, IntervalSet, expand, subtract, union
from stallscope.waits.base import Claims, View, claim_gaps


def claim_host_spans(view: View, spans: Span, thread: npt.NDArray[np.int32]) -> Claims:
    """Claims on the host parts of late gaps that the spans of the launching thread cover and no API call does.

    `thread` gives the thread of each span. Up to the launch call the device waits for the host, whatever the host does
    there; so these claims compete only with other explanations of the same host time.
    """
    gaps, calls = view.gaps, view.calls
    late = np.flatnonzero((gaps.thread != NO_ROW) & ~gaps.queued & ~gaps.in_graph & (gaps.host_end_ns > gaps.start_ns))
    clock = ThreadClock.of(gaps.start_ns[late], gaps.end_ns[late], calls.start_ns, calls.end_ns)
    covered = union(clock.key(thread, spans.start_ns), clock.key(thread, spans.end_ns))
    outside = subtract(
        covered,
        union(clock.key(calls.thread, calls.start_ns)[calls.outer], clock.key(calls.thread, calls.end_ns)[calls.outer]),
    )
    row, start, end = cut(
        clock.key(gaps.thread[late], gaps.start_ns[late]), clock.key(gaps.thread[late], gaps.host_end_ns[late]), outside
    )
    gap = late[row]
    shift = gaps.start_ns[gap] - clock.key(gaps.thread[gap], gaps.start_ns[gap])
    return claim_gaps(view, gap, start + shift, end + shift)


def claim_inside(view: View, spans: Span, thread: npt.NDArray[np.int32]) -> Claims:
    """Claims on late gaps wherever the spans of the launching thread cover them, API calls included."""
    gaps = view.gaps
    late = np.flatnonzero((gaps.thread != NO_ROW) & ~gaps.queued & ~gaps.in_graph)
    clock = ThreadClock.of(gaps.start_ns[late], gaps.end_ns[late], spans.start_ns, spans.end_ns)
    covered = union(clock.key(thread, spans.start_ns), clock.key(thread, spans.end_ns))
    row, start, end = cut(
        clock.key(gaps.thread[late], gaps.start_ns[late]), clock.key(gaps.thread[late], gaps.end_ns[late]), covered
    )
    gap = late[row]
    shift = gaps.start_ns[gap] - clock.key(gaps.thread[gap], gaps.start_ns[gap])
    return claim_gaps(view, gap, start + shift, end + shift)


def cut(starts: Int64Array, ends: Int64Array, by: IntervalSet) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Non-empty intersections of each span with the set: (row of the span, start, end)."""
    first = np.searchsorted(by.ends, starts, side="right")
    after = np.searchsorted(by.starts, ends, side="left")
    row, part = expand(first, after)
    return row, np.maximum(starts[row], by.starts[part]), np.minimum(ends[row], by.ends[part])
