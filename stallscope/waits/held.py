"""Queued operations that a dependency holds back while the device is idle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import SyncKind, Syncs
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import View

LATENCY_NS = 10_000
"""Up to this long a gap before a queued operation is the device's own latency (launch.drain)."""


def held_gaps(view: View) -> Int64Array:
    """Gaps longer than launch latency whose successor had been queued before, graph nodes aside."""
    gaps = view.gaps
    return np.flatnonzero(gaps.queued & ~gaps.in_graph & (gaps.end_ns - gaps.start_ns > LATENCY_NS))


def waits_for_event(view: View, gap: Int64Array) -> npt.NDArray[np.bool_]:
    """Gaps with a stream-wait-event between the launch of the successor and the launch before it on its stream."""
    syncs, calls = view[Syncs], view.calls
    operations, gaps = view.operations, view.gaps
    after = gaps.after[gap]
    launched = calls.start_ns[gaps.launch[gap]]
    found = np.zeros(len(gap), np.bool_)
    rows = np.flatnonzero(syncs.kind == SyncKind.STREAM_WAIT_EVENT)
    previous = _previous_launch(view, after)
    for process, context, stream in {
        (int(operations.process[a]), int(operations.context[a]), int(operations.stream[a])) for a in after
    }:
        mine = (operations.process[after] == process) & (operations.stream[after] == stream)
        mine &= operations.context[after] == context
        waits = rows[
            (syncs.process[rows] == process) & (syncs.stream[rows] == stream) & (syncs.context[rows] == context)
        ]
        times = np.sort(syncs.start_ns[waits])
        found[mine] = np.searchsorted(times, launched[mine]) > np.searchsorted(times, previous[mine])
    return found


def _previous_launch(view: View, operation: Int64Array) -> Int64Array:
    """When the launch call before each operation's own on the same stream began; 0 where there is none."""
    operations, calls, launch = view.operations, view.calls, view.launch
    known = np.flatnonzero(launch != NO_ROW)
    order = known[
        np.lexsort(
            (
                calls.start_ns[launch[known]],
                operations.stream[known],
                operations.context[known],
                operations.process[known],
            )
        )
    ]
    position = np.empty(len(operations), np.int64)
    position[order] = np.arange(len(order))
    at = position[operation]
    before = order[np.maximum(at - 1, 0)]
    same = (at > 0) & (operations.stream[before] == operations.stream[operation])
    same &= (operations.context[before] == operations.context[operation]) & (
        operations.process[before] == operations.process[operation]
    )
    return np.where(same, calls.start_ns[launch[before]], 0)
