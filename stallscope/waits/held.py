"""Queued operations that a dependency holds back while the device is idle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import SyncKind, Syncs
from stallscope.timeline.calls import CallKind
from stallscope.timeline.gaps import Gaps, held_from
from stallscope.timeline.intervals import Int64Array, positions
from stallscope.timeline.rows import RowArray
from stallscope.timeline.stream_order import stream_key
from stallscope.waits.base import Claims, View
from stallscope.waits.claims import claim_gaps


def claim_held(view: View, gap: Int64Array) -> Claims:
    """Claims on the time the queue held the successors, placed where these were launched."""
    gaps, calls = view.gaps, view.calls
    claims = claim_gaps(view, gap, held_from(gaps, gap), gaps.at(Gaps.end_ns, gap))
    return claims.with_columns(time_ns=calls.start_ns[gaps.at(Gaps.launch, gap)])


def called_between(view: View, wanted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Operations with a wanted call between their launch and their stream's launch before, all on one thread."""
    calls, launch = view.calls, view.launch
    called = np.flatnonzero(wanted)
    found = np.zeros(len(launch), np.bool_)
    if not len(called):
        return found
    elder = view.stream_order.predecessor
    rows = np.flatnonzero((elder != NO_ROW) & (launch != NO_ROW))
    rows = rows[(launch[elder[rows]] != NO_ROW) & (launch[elder[rows]] < launch[rows])]
    first, last = launch[elder[rows]], launch[rows]  # calls are sorted by thread and time
    same = calls.thread[first] == calls.thread[last]
    found[rows] = same & (positions(called, last) > positions(called, first))
    return found


def waits_for_event(view: View, gap: Int64Array) -> npt.NDArray[np.bool_]:
    """Gaps with a stream-wait-event between the launch of the successor and the launch before it on its stream.

    Captures without synchronization records do not tell the stream of such a call: there it must be the launching
    thread's last word to the device before the launch.
    """
    syncs = view.find(Syncs)
    return _waits_before_launch(view, gap) if syncs is None else _waits_on_stream(view, syncs, gap)


def _waits_before_launch(view: View, gap: Int64Array) -> npt.NDArray[np.bool_]:
    calls, launch = view.calls, view.gaps.at(Gaps.launch, gap)
    asked = np.flatnonzero(calls.kind == CallKind.STREAM_WAIT)
    words = np.unique(np.concatenate((view.launch[view.launch != NO_ROW], asked)))
    before = words[np.maximum(np.searchsorted(words, launch) - 1, 0)]
    waited = (before < launch) & (calls.kind[before] == CallKind.STREAM_WAIT)
    return np.asarray(waited & (calls.thread[before] == calls.thread[launch]))


def _waits_on_stream(view: View, syncs: Syncs, gap: Int64Array) -> npt.NDArray[np.bool_]:
    order = view.stream_order
    after = view.gaps.after[gap]
    stream, launched, previous = order.of_row[after], view.launched_ns(after), _previous_launch(view, after)
    waits = np.flatnonzero(syncs.kind == SyncKind.STREAM_WAIT_EVENT)
    waiting = order.number(stream_key(syncs.process[waits], syncs.context[waits], syncs.stream[waits]))
    found = np.zeros(len(gap), np.bool_)
    for one in np.unique(stream):
        mine = stream == one
        times = np.sort(syncs.start_ns[waits[waiting == one]])
        found[mine] = np.searchsorted(times, launched[mine]) > np.searchsorted(times, previous[mine])
    return found


def last_event_wait(view: View, operation: Int64Array) -> Int64Array:
    """When the last stream-wait-event of each operation's stream before its launch was issued; 0 where there is none.

    An operation keeps the order of its stream, so such a wait holds it whatever was launched in between.
    """
    syncs, order = view[Syncs], view.stream_order
    waits = np.flatnonzero(syncs.kind == SyncKind.STREAM_WAIT_EVENT)
    waiting = order.number(stream_key(syncs.process[waits], syncs.context[waits], syncs.stream[waits]))
    stream, launched = order.of_row[operation], view.launched_ns(operation)
    found = np.zeros(len(operation), np.int64)
    for one in np.unique(stream):
        mine = np.flatnonzero(stream == one)
        times = np.sort(syncs.start_ns[waits[waiting == one]])
        at = np.searchsorted(times, launched[mine]) - 1
        found[mine[at >= 0]] = times[at[at >= 0]]
    return found


def _previous_launch(view: View, operation: RowArray) -> Int64Array:
    """When the launch call before each operation's own on the same stream began; 0 where there is none.

    Work that one call launched together (a graph) has its own launch time here: nothing was asked for in between.
    """
    order, launched, launch = view.stream_order, view.launched_ns(operation), view.launch
    before = order.last_before(order.of_row[operation], launched)
    elder = order.predecessor[operation]
    together = (elder != NO_ROW) & (launch[elder] == launch[operation])
    return np.where(together, launched, np.where(before == NO_ROW, 0, view.launched_ns(before)))
