"""Idle time behind host calls that block: what a call that waited for the device costs after the device drained."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.events import ApiCalls
from stallscope.timeline.calls import CallIndex, CallKind, HostCalls, ThreadClock
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Claims, Fact, View, claim_gaps

CLOCK_SLACK_NS = 2_000
"""Host and device clocks of a capture agree to about a microsecond; a call may seem to end just before the drain."""


def calls_of(view: View, *kinds: CallKind) -> Int64Array:
    """Rows of the calls of these kinds, without those nested in another of them."""
    calls = view.calls
    rows = np.flatnonzero(np.isin(calls.kind, kinds))
    return rows[_outermost(calls, rows)]


def _outermost(calls: HostCalls, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    clock = ThreadClock.of(calls.start_ns[rows], calls.end_ns[rows])
    reach = np.maximum.accumulate(clock.key(calls.thread[rows], calls.end_ns[rows]))
    starts = clock.key(calls.thread[rows], calls.start_ns[rows])
    return np.concatenate((np.ones(min(1, len(rows)), np.bool_), starts[1:] >= reach[:-1]))


def blocked(view: View, rows: Int64Array, *, carry: bool = True) -> Claims:
    """Claims on the gaps in which the launching thread was inside one of the calls.

    The time inside the call is claimed from the moment the device drained. A call that had waited W ns for a busy
    device also held back what the thread did next: without it that work would have run beside the device. So up to W
    further ns of the gap are the call's (`carry`); what is longer would have been idle anyway, for other causes.
    """
    gaps, calls = view.gaps, view.calls
    gap, call = CallIndex(calls, rows).overlapping(gaps.thread, gaps.start_ns - CLOCK_SLACK_NS, gaps.end_ns)
    start = np.maximum(calls.start_ns[call], gaps.start_ns[gap])
    waited = np.maximum(gaps.start_ns[gap] - calls.start_ns[call], 0) if carry else np.zeros(len(call), np.int64)
    end = np.minimum(np.maximum(calls.end_ns[call], start) + waited, gaps.end_ns[gap])
    return claim_gaps(view, gap, start, end, call)


def call_facts(view: View, claims: Claims, what: str) -> tuple[Fact, ...]:
    """The evidence every blocking-call rule shows: how many calls, how long they took, how much idle they cover."""
    calls, blamed = view.calls, np.unique(claims.call)
    drained = np.unique(claims.call[calls.start_ns[claims.call] < claims.start_ns])
    return (
        Fact(f"{what} with the device idle", len(blamed), "count", ApiCalls),
        Fact("host time in these calls", int((calls.end_ns[blamed] - calls.start_ns[blamed]).sum()), "ns", ApiCalls),
        Fact("of them calls under which the device drained", len(drained), "count", ApiCalls),
    )
