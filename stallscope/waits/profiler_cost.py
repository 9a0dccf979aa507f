"""What the profiler itself adds to the host side of a wait."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.timeline.blocking import CATCH_UP_NS
from stallscope.timeline.intervals import Int64Array, IntervalSet, positions, union
from stallscope.timeline.rows import picked
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims

CALL_NS = 4_400
"""Host time that CUPTI adds to an API call.

Eager launch loops on the host of an H200 (nsys 2023.4) take 4.3 to 4.4 µs a call longer under the profiler than
without, loops with synchronizations 4 to 10 µs. Where the device is the limit the two differ by 1 to 3 %, without a
trend.
"""


def profiler_part_ns(timeline: Timeline, claims: Claims, rows: Int64Array) -> int:
    """Time of these claims on gaps that may be the profiler's: CALL_NS for every call the waiting thread made for them.

    Those are its calls beside the operation before the gap, at most CATCH_UP_NS before its end, and in the claim.
    """
    gaps, calls, operations = timeline.gaps, timeline.calls, timeline.operations
    rows = rows[(claims.operation[rows] != NO_ROW) & (claims.thread[rows] != NO_ROW)]
    if not len(rows) or not len(gaps) or not len(calls):
        return 0
    gap = picked(timeline.gap_before, claims.operation[rows])
    rows, gap = rows[gap != NO_ROW], gap[gap != NO_ROW]
    begins = np.maximum(operations.start_ns[gaps.before[gap]], gaps.start_ns[gap] - CATCH_UP_NS)
    ends, threads = claims.end_ns[rows], claims.thread[rows]
    count = 0
    for thread in np.unique(threads):
        mine = threads == thread
        spans = union(begins[mine], ends[mine])
        first, after = np.searchsorted(calls.thread, [thread, thread + 1])
        starts = calls.start_ns[first:after]
        inner = starts[~calls.outer[first:after]]
        count += _inside(starts, spans) - _inside(inner, spans)
    return count * CALL_NS


def _inside(times: Int64Array, spans: IntervalSet) -> int:
    """How many of the sorted times lie in the set."""
    return int((positions(times, spans.ends) - positions(times, spans.starts)).sum())
