"""Queued operations that a dependency holds back while the device is idle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import SyncKind, Syncs
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.stream_order import stream_key
from stallscope.waits.base import View

LATENCY_NS = 10_000
"""Up to this long a gap before a queued operation is the device's own latency (launch.drain)."""


def held_gaps(view: View) -> Int64Array:
    """Gaps longer than launch latency whose successor had been queued before, graph nodes aside."""
    gaps = view.gaps
    return np.flatnonzero(gaps.queued & ~gaps.in_graph & (gaps.end_ns - gaps.start_ns > LATENCY_NS))


def waits_for_event(view: View, gap: Int64Array) -> npt.NDArray[np.bool_]:
    """Gaps with a stream-wait-event between the launch of the successor and the launch before it on its stream."""
    syncs, order = view[Syncs], view.stream_order
    after = view.gaps.after[gap]
    stream, launched, previous = order.of_row[after], view.launched_ns[after], _previous_launch(view, after)
    waits = np.flatnonzero(syncs.kind == SyncKind.STREAM_WAIT_EVENT)
    waiting = order.number(stream_key(syncs.process[waits], syncs.context[waits], syncs.stream[waits]))
    found = np.zeros(len(gap), np.bool_)
    for one in np.unique(stream):
        mine = stream == one
        times = np.sort(syncs.start_ns[waits[waiting == one]])
        found[mine] = np.searchsorted(times, launched[mine]) > np.searchsorted(times, previous[mine])
    return found


def _previous_launch(view: View, operation: Int64Array) -> Int64Array:
    """When the launch call before each operation's own on the same stream began; 0 where there is none.

    Work that one call launched together (a graph) has its own launch time here: nothing was asked for in between.
    """
    order, launched, launch = view.stream_order, view.launched_ns, view.launch
    before = order.last_before(order.of_row[operation], launched[operation])
    elder = order.predecessor()[operation]
    together = (elder != NO_ROW) & (launch[elder] == launch[operation])
    return np.where(together, launched[operation], np.where(before == NO_ROW, 0, launched[before]))
