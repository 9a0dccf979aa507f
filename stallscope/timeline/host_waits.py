"""Host calls that wait for the device, and for which operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import EventRecords, SyncKind, Syncs
from stallscope.timeline.calls import SYNCS, CallKind
from stallscope.timeline.intervals import Int64Array, is_one_of
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.stream_order import StreamOrder, stream_key
from stallscope.timeline.timeline import Timeline

CLOCK_SLACK_NS = 2_000
"""Host and device clocks of a capture agree to about a microsecond."""

MAX_STREAMS = 64
"""Above this number of streams a device-wide wait is tied to the operation that ended last only."""

_USUAL_WAIT_NS = 2_000
ALLOCATOR = (CallKind.ALLOC, CallKind.FREE, CallKind.ALLOC_PINNED, CallKind.ALLOC_MAP)


@dataclass(frozen=True, slots=True)
class HostWaits:
    """Waiting calls (rows of `HostCalls`) and pairs (position in `call`, operation row) they waited for.

    `return_ns` is the time from the end of the last awaited operation to the call's return, `floor_ns` what the call
    costs when there is nothing to wait for.
    """

    call: Int64Array
    pair: Int64Array
    operation: Int64Array
    return_ns: Int64Array
    floor_ns: Int64Array


def host_waits(timeline: Timeline, order: StreamOrder) -> HostWaits:
    """Synchronizations, blocking copies, and allocator calls that the trace shows to wait."""
    calls = timeline.calls
    outer = np.flatnonzero(calls.outer)
    syncs = outer[np.isin(calls.kind[outer], SYNCS)]
    pair, operation = _awaited_by_syncs(timeline, order, syncs)
    alloc, alloc_pair, alloc_operation = _allocator(timeline, order, outer)
    copies, copied = _blocking_copies(timeline)
    call = np.concatenate((syncs, alloc, copies))
    pairs = np.concatenate((pair, alloc_pair + len(syncs), np.arange(len(copies)) + len(syncs) + len(alloc)))
    operations = np.concatenate((operation, alloc_operation, copied))
    return _with_lags(timeline, call.astype(np.int64), pairs.astype(np.int64), operations.astype(np.int64))


def _with_lags(timeline: Timeline, call: Int64Array, pair: Int64Array, operation: Int64Array) -> HostWaits:
    calls, operations = timeline.calls, timeline.operations
    finished = operations.end_ns[operation] <= calls.end_ns[call[pair]] + CLOCK_SLACK_NS
    pair, operation = pair[finished], operation[finished]
    last = np.full(len(call), np.iinfo(np.int64).min, np.int64)
    np.maximum.at(last, pair, operations.end_ns[operation])
    held = last > calls.start_ns[call]
    length = calls.end_ns[call] - calls.start_ns[call]
    floor = _floors(calls.process[call], length, ~held & np.isin(calls.kind[call], SYNCS))
    idle = np.where(np.isin(calls.kind[call], ALLOCATOR), length, 0)  # what an allocator call does behind its wait
    returned = np.where(held, calls.end_ns[call] - np.where(held, last, 0), idle)
    return HostWaits(
        call=call,
        pair=pair,
        operation=operation,
        return_ns=returned,
        floor_ns=np.where(held, np.minimum(length, floor), length),
    )


def _floors(process: npt.NDArray[np.int32], length: Int64Array, free: npt.NDArray[np.bool_]) -> Int64Array:
    """Median length of each process's free calls; another process may wait for work that is not in the trace."""
    floors = np.full(len(process), _USUAL_WAIT_NS, np.int64)
    for own in np.unique(process):
        sample = length[free & (process == own)]
        if len(sample):
            floors[process == own] = int(np.median(sample))
    return floors


def _awaited_by_syncs(timeline: Timeline, order: StreamOrder, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Pairs (position in rows, operation). Where no record says which stream or event, all streams of the process."""
    calls = timeline.calls
    scope = _sync_scopes(timeline, order, rows)
    named = scope.stream != NO_ROW
    position = np.flatnonzero(named)
    until = np.where(scope.until_ns > 0, scope.until_ns, calls.start_ns[rows])
    operation = order.last_before(scope.stream[position], until[position])
    wide, wide_operation = _on_all_streams(timeline, order, rows[~named])
    pairs = np.concatenate((position, np.flatnonzero(~named)[wide]))
    operations = np.concatenate((operation, wide_operation))
    known = operations != NO_ROW
    return pairs[known], operations[known]


def _on_all_streams(timeline: Timeline, order: StreamOrder, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The last operation submitted before each call on every stream of its process."""
    calls, operations = timeline.calls, timeline.operations
    pairs, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    latest = np.full(len(rows) if len(order.keys) > MAX_STREAMS else 0, NO_ROW, np.int64)
    process = (order.keys >> 48).astype(np.int64)
    for stream in range(len(order.keys)):
        mine = np.flatnonzero(calls.process[rows] == process[stream])
        operation = order.last_before(np.full(len(mine), stream, np.int64), calls.start_ns[rows[mine]])
        waited = (operation != NO_ROW) & (
            operations.end_ns[np.maximum(operation, 0)] <= calls.end_ns[rows[mine]] + CLOCK_SLACK_NS
        )
        if len(latest):
            _keep_later(operations.end_ns, latest, mine[waited], operation[waited])
        else:
            pairs.append(mine[waited])
            found.append(operation[waited])
    if len(latest):
        pair = np.flatnonzero(latest != NO_ROW)
        return pair, latest[pair]
    return np.concatenate(pairs), np.concatenate(found)


def _keep_later(ends: Int64Array, latest: Int64Array, position: Int64Array, operation: Int64Array) -> None:
    """Of many streams only the operation that ends last is kept for each call, or memory would be their product."""
    known = latest[position]
    later = (known == NO_ROW) | (ends[operation] >= ends[np.maximum(known, 0)])
    latest[position[later]] = operation[later]


@dataclass(frozen=True, slots=True)
class _Scopes:
    """Stream a synchronization waits for (NO_ROW: all or unknown), and up to which host time (0: the call's start)."""

    stream: Int64Array
    until_ns: Int64Array


def _sync_scopes(timeline: Timeline, order: StreamOrder, rows: Int64Array) -> _Scopes:
    stream, until = np.full(len(rows), NO_ROW, np.int64), np.zeros(len(rows), np.int64)
    syncs = timeline.trace.table(Syncs)
    if syncs is None or not len(syncs) or not len(rows):
        return _Scopes(stream, until)
    record = match((syncs.process, syncs.correlation), (timeline.calls.process[rows], timeline.calls.correlation[rows]))
    known = np.flatnonzero(record != NO_ROW)
    record = record[known]
    on_stream = syncs.kind[record] == SyncKind.STREAM
    keys = stream_key(syncs.process[record], syncs.context[record], syncs.stream[record])
    stream[known[on_stream]] = order.number(keys[on_stream])
    on_event = syncs.kind[record] == SyncKind.EVENT
    _event_scopes(timeline, order, (known[on_event], record[on_event]), (stream, until))
    return _Scopes(stream, until)


def _event_scopes(
    timeline: Timeline,
    order: StreamOrder,
    waits: tuple[npt.NDArray[np.intp], Int64Array],
    scopes: tuple[Int64Array, Int64Array],
) -> None:
    """An event synchronization waits for what its stream had been given before the event was recorded."""
    syncs, events = timeline.trace.table(Syncs), timeline.trace.table(EventRecords)
    if syncs is None or events is None or not len(events):
        return
    position, record = waits
    linked = syncs.event_sync[record] > 0
    event = match((events.process, events.event_sync), (syncs.process[record], syncs.event_sync[record]))
    recorded = match(
        (timeline.calls.process, timeline.calls.correlation),
        (events.process[np.maximum(event, 0)], events.correlation[np.maximum(event, 0)]),
    )
    known = linked & (event != NO_ROW) & (recorded != NO_ROW)
    event, recorded = event[known], recorded[known]
    scopes[0][position[known]] = order.number(
        stream_key(events.process[event], events.context[event], events.stream[event])
    )
    scopes[1][position[known]] = timeline.calls.start_ns[recorded]


def _allocator(timeline: Timeline, order: StreamOrder, outer: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Allocator calls that wait for submitted work: those of a name under which the trace shows the device drain.

    Whether cudaFree or cudaMalloc wait depends on driver and allocator, so the trace decides. Where it shows it once,
    the calls that found the device idle would have waited too.
    """
    calls, operations = timeline.calls, timeline.operations
    rows = outer[np.isin(calls.kind[outer], ALLOCATOR)]
    pair, operation = _on_all_streams(timeline, order, rows)
    drained = operations.end_ns[operation] > calls.start_ns[rows[pair]]
    waiting = np.isin(calls.name[rows], np.unique(calls.name[rows[pair[drained]]]))
    keep = waiting[pair]
    position = np.cumsum(waiting) - 1
    return rows[waiting], position[pair[keep]], operation[keep]


def _blocking_copies(timeline: Timeline) -> tuple[Int64Array, Int64Array]:
    """Calls that returned only when their own copy or memset had ended, and that operation."""
    calls, operations, launch = timeline.calls, timeline.operations, timeline.launch
    if not len(calls):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows = np.flatnonzero((launch != NO_ROW) & is_one_of(operations.kind, (OperationKind.COPY, OperationKind.MEMSET)))
    call = launch[rows]
    held = (operations.end_ns[rows] <= calls.end_ns[call]) & calls.outer[call]
    rows, call = rows[held], call[held]
    last = np.unique(call[::-1], return_index=True)[1]
    return call[::-1][last].astype(np.int64), rows[::-1][last]


def match(
    table: tuple[npt.NDArray[np.int32], Int64Array], wanted: tuple[npt.NDArray[np.int32], Int64Array]
) -> Int64Array:
    """Row of the first entry with the wanted (process, id), or NO_ROW; id 0 means unknown and matches nothing."""
    keys = (table[0].astype(np.int64) << 44) | table[1]
    order = np.argsort(keys, kind="stable")
    goal = (wanted[0].astype(np.int64) << 44) | wanted[1]
    if not len(keys):
        return np.full(len(goal), NO_ROW, np.int64)
    position = np.minimum(np.searchsorted(keys[order], goal), len(keys) - 1)
    found = (keys[order[position]] == goal) & (wanted[1] > 0)
    return np.where(found, order[position], NO_ROW)
