"""Idle time that host calls cause by holding their thread back.

A call costs idle time in two ways. While the thread is inside it and the device is idle, nothing can be launched.
And every nanosecond a call held the thread beside a busy device is run-ahead lost: without the call the thread would
have prepared its next launches beside that work. When the device drains under such a call, the gaps behind it are
charged to the call that lost most, until the W ns lost since the last drain are used up, the device drains again, or
the device has worked long enough for the host to catch up. What goes beyond would have been idle anyway.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Column
from stallscope.model.events import Copies, MemoryKind, Span
from stallscope.timeline.calls import CallIndex, CallKind, HostCalls, ThreadClock
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array, IntervalSet, is_one_of
from stallscope.timeline.operations import OperationKind, Operations
from stallscope.timeline.rows import RowArray
from stallscope.timeline.windows import DeviceWindow

CLOCK_SLACK_NS = 2_000
"""Host and device clocks of a capture agree to about a microsecond; a call may seem to end just before the drain."""

CATCH_UP_NS = 100_000
"""A host that had this much device work to prepare its next launch, and still is late, is late at its own pace."""

ASYNCHRONOUS = (
    CallKind.OTHER,
    CallKind.LAUNCH,
    CallKind.GRAPH_LAUNCH,
    CallKind.COPY,
    CallKind.MEMSET,
    CallKind.POLL,
    CallKind.STREAM_WAIT,
    CallKind.EVENT_RECORD,
)
"""Calls that submit or ask and return; all others may hold their thread back."""


class BlockedGaps(Span):
    """Parts of gaps caused by a call that held the launching thread back."""

    gap = Column(np.int32, "row in Gaps")
    call = Column(np.int32, "row in HostCalls")


def pageable_copy_calls(operations: Operations, launch: RowArray, copies: Copies | None) -> RowArray:
    """Calls of asynchronous copies that block all the same, because one side is pageable."""
    if copies is None:
        return np.empty(0, np.int32)
    rows = np.flatnonzero((operations.kind == OperationKind.COPY) & (launch != NO_ROW))
    copy = operations.row[rows]
    pageable = (copies.source_kind[copy] == MemoryKind.PAGEABLE) | (copies.target_kind[copy] == MemoryKind.PAGEABLE)
    return np.unique(launch[rows[pageable]])


def holding_calls(calls: HostCalls, pageable: RowArray) -> Int64Array:
    """Outermost calls that may hold their thread back, by (thread, start)."""
    holds = ~is_one_of(calls.kind, ASYNCHRONOUS)
    holds[pageable] = True
    rows = np.flatnonzero(holds)
    clock = ThreadClock.of(calls.start_ns[rows], calls.end_ns[rows])
    reach = np.maximum.accumulate(clock.key(calls.thread[rows], calls.end_ns[rows]))
    nested = clock.key(calls.thread[rows], calls.start_ns[rows])[1:] < reach[:-1]
    return np.asarray(rows[np.concatenate((np.ones(min(1, len(rows)), np.bool_), ~nested))])


def blocked_gaps(gaps: Gaps, calls: HostCalls, rows: Int64Array, windows: tuple[DeviceWindow, ...]) -> BlockedGaps:
    """Charge late gaps to the holding calls inside them and to the last call under which their device drained."""
    late = np.flatnonzero((gaps.thread != NO_ROW) & ~gaps.queued & ~gaps.in_graph)
    index = CallIndex(calls, rows)
    pair, call = index.overlapping(
        gaps.thread[late], gaps.at(Gaps.start_ns, late) - CLOCK_SLACK_NS, gaps.at(Gaps.late_end_ns, late)
    )
    gap = late[pair]
    launch = gaps.at(Gaps.launch, gap)
    before = (call <= launch) | (launch == NO_ROW)  # what follows the launch cannot have delayed it
    gap, call = gap[before], call[before]
    start, device, device_of_late = gaps.at(Gaps.start_ns, gap), gaps.at(Gaps.device, gap), gaps.at(Gaps.device, late)
    inside = _Parts(
        np.maximum(calls.start_ns[call], start),
        np.minimum(calls.end_ns[call], gaps.at(Gaps.late_end_ns, gap)),
        gap,
        call,
    )
    drained = calls.start_ns[call] < start
    behind = []
    for window in windows:
        draining = np.unique(call[drained & (device == window.device)])
        lost = _lost_run_ahead(calls, rows, draining, window)
        behind.append(_behind(gaps, calls, late[device_of_late == window.device], lost))
    parts = [part for part in (inside, *behind) if part is not None]
    start, end, gap, call = (np.concatenate(column) for column in zip(*parts, strict=True))
    keep = end > start
    return BlockedGaps.of(start_ns=start[keep], end_ns=end[keep], gap=gap[keep], call=call[keep])


class _Parts(NamedTuple):
    start_ns: Int64Array
    end_ns: Int64Array
    gap: Int64Array
    call: Int64Array


class _Drains(NamedTuple):
    """Calls under which a device drained, by (thread, start).

    Drains of a chain follow each other before the host could catch up: what the earlier ones lost is still lost.
    `budget_ns` and `blamed` count from the start of the chain.
    """

    call: Int64Array
    chain: Int64Array
    budget_ns: Int64Array
    blamed: Int64Array


def _lost_run_ahead(calls: HostCalls, rows: Int64Array, draining: Int64Array, window: DeviceWindow) -> _Drains:
    """Run-ahead the thread lost up to each drain, and the call that lost most of it."""
    if not len(draining):
        return _Drains(draining, draining, draining, draining)
    busy = window.busy
    held = busy.covered(calls.start_ns[rows], calls.end_ns[rows])
    group = np.searchsorted(draining, rows)  # rows and draining are both in (thread, start) order
    inside = group < len(draining)
    inside[inside] &= calls.thread[draining[group[inside]]] == calls.thread[rows[inside]]
    rows, held, group = rows[inside], held[inside], group[inside]
    first = _firsts(group)
    largest = np.lexsort((held, group))[np.append(first[1:], len(group)) - 1]
    lost = np.add.reduceat(held, first)
    chain = _chains(calls, draining, busy)
    starts = _firsts(chain)
    before = np.repeat((np.cumsum(lost) - lost)[starts], np.diff(np.append(starts, len(chain))))
    return _Drains(draining, chain, np.cumsum(lost) - before, rows[_running_largest(held, largest, chain)])


def _chains(calls: HostCalls, draining: Int64Array, busy: IntervalSet) -> Int64Array:
    """Number of the chain of each drain."""
    ends, starts = calls.end_ns[draining[:-1]], calls.start_ns[draining[1:]]
    worked = busy.covered(ends, np.maximum(starts, ends))
    breaks = (worked >= CATCH_UP_NS) | (calls.thread[draining[1:]] != calls.thread[draining[:-1]])
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(breaks)))


def _running_largest(held: Int64Array, largest: Int64Array, chain: Int64Array) -> Int64Array:
    """Position of the call that held longest in the chain so far."""
    rank = np.argsort(np.argsort(held[largest], kind="stable"), kind="stable")
    key = np.maximum.accumulate(chain * len(rank) + rank)
    positions: Int64Array = largest[np.argsort(rank, kind="stable")[key % len(rank)]]
    return positions


def _firsts(group: Int64Array) -> npt.NDArray[np.intp]:
    """Where each run of equal groups begins."""
    return np.flatnonzero(np.concatenate((np.ones(min(1, len(group)), np.bool_), group[1:] != group[:-1])))


def _behind(gaps: Gaps, calls: HostCalls, gap: Int64Array, drains: _Drains) -> _Parts | None:
    """Parts of a device's late gaps behind the drains, within what was lost up to each."""
    if not len(drains.call) or not len(gap):
        return None
    gap = gap[np.argsort(gaps.thread[gap], kind="stable")]
    drain = _last_drain(calls, drains.call, gaps, gap)
    gap, drain = gap[drain != NO_ROW], drain[drain != NO_ROW]
    end = gaps.at(Gaps.late_end_ns, gap)
    start = np.clip(calls.end_ns[drains.call[drain]], gaps.at(Gaps.start_ns, gap), end)
    left = np.maximum(drains.budget_ns[drain] - _running_sum(end - start, drains.chain[drain]), 0)
    left[_caught_up(gaps, calls, gap, drain, drains.call)] = 0
    return _Parts(start, np.minimum(end, start + left), gap, drains.blamed[drain])


def _caught_up(
    gaps: Gaps, calls: HostCalls, gap: Int64Array, drain: Int64Array, draining: Int64Array
) -> npt.NDArray[np.bool_]:
    """Gaps behind a stretch of device work since their drain in which the host could have caught up."""
    previous = np.concatenate((gaps.at(Gaps.end_ns, gap[:1]), gaps.at(Gaps.end_ns, gap[:-1])))
    first = np.concatenate((np.ones(min(1, len(drain)), np.bool_), drain[1:] != drain[:-1]))
    worked = gaps.at(Gaps.start_ns, gap) - np.where(first, calls.end_ns[draining[drain]], previous)
    long = (worked >= CATCH_UP_NS).astype(np.int64)
    return np.asarray(_running_sum(long, drain) + long > 0)


def _last_drain(calls: HostCalls, rows: Int64Array, gaps: Gaps, gap: Int64Array) -> Int64Array:
    """Position of the last drain that the gap's thread began before the gap's launch, or NO_ROW."""
    clock = ThreadClock.of(calls.start_ns[rows], gaps.at(Gaps.start_ns, gap), gaps.at(Gaps.end_ns, gap))
    position = np.searchsorted(
        clock.key(calls.thread[rows], calls.start_ns[rows]), clock.key(gaps.thread[gap], gaps.at(Gaps.host_end_ns, gap))
    )
    found = np.maximum(position - 1, 0)
    return np.where((position > 0) & (calls.thread[rows[found]] == gaps.thread[gap]), found, NO_ROW)


def _running_sum(lengths: Int64Array, group: Int64Array) -> Int64Array:
    """Sum of the earlier lengths in each run of equal groups."""
    if not len(group):
        return lengths
    total = np.cumsum(lengths) - lengths
    first = _firsts(group)
    return total - np.repeat(total[first], np.diff(np.append(first, len(group))))
