"""What the profiler itself adds to the host side of a wait."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.timeline.blocking import CATCH_UP_NS
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array, IntervalSet, positions, union
from stallscope.timeline.rows import RowArray, picked
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims

CALL_NS = 4_400
"""Host time that CUPTI adds to an API call.

Eager launch loops on the host of an H200 (nsys 2023.4) take 4.3 to 4.4 µs a call longer under the profiler than
without, loops with synchronizations 4 to 10 µs. Where the device is the limit the two differ by 1 to 3 %, without a
trend.
"""


def profiler_part_ns(timeline: Timeline, claims: Claims, rows: RowArray) -> int:
    """Time of these claims on gaps that may be the profiler's: CALL_NS for every call the waiting thread made for them.

    Those are its calls beside the operation before the gap, at most CATCH_UP_NS before its end, and in the claim.
    """
    if not len(timeline.gaps) or not len(timeline.calls):
        return 0
    threads = claims.at(Claims.thread, rows)
    waiting = np.unique(threads[threads != NO_ROW]).tolist()
    return CALL_NS * sum(_calls_made(timeline, claims, rows[threads == thread], thread) for thread in waiting)


def _calls_made(timeline: Timeline, claims: Claims, rows: RowArray, thread: int) -> int:
    """Calls that the thread made for its claims."""
    gaps, calls = timeline.gaps, timeline.calls
    operation = claims.at(Claims.operation, rows)
    if operation.min(initial=0) == NO_ROW:
        rows, operation = rows[operation != NO_ROW], operation[operation != NO_ROW]
    gap = picked(timeline.gap_before, operation)
    if gap.min(initial=0) == NO_ROW:
        rows, gap = rows[gap != NO_ROW], gap[gap != NO_ROW]
    before = picked(timeline.operations.start_ns, picked(gaps.before, gap))
    begins = np.maximum(before, gaps.at(Gaps.start_ns, gap) - CATCH_UP_NS)
    spans = union(begins, claims.at(Claims.end_ns, rows))
    first, after = np.searchsorted(calls.thread, np.array([thread, thread + 1], np.int32))
    starts = calls.start_ns[first:after]
    inner = starts[~calls.outer[first:after]]
    return _inside(starts, spans) - _inside(inner, spans)


def _inside(times: Int64Array, spans: IntervalSet) -> int:
    """How many of the sorted times lie in the set."""
    return int((positions(times, spans.ends) - positions(times, spans.starts)).sum())
