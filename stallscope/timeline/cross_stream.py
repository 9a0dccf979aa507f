"""Dependencies between streams: event waits, the legacy default stream, the inside of CUDA graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import EventRecords, StreamFlag, Streams, SyncKind, Syncs
from stallscope.timeline.calls import ThreadClock
from stallscope.timeline.edges import EdgeKind, Edges, join
from stallscope.timeline.host_waits import CLOCK_SLACK_NS, match
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.lags import LONGEST_DRAIN_NS
from stallscope.timeline.operations import Operations
from stallscope.timeline.stream_order import StreamOrder, stream_key
from stallscope.timeline.timeline import Timeline

MAX_BLOCKING_STREAMS = 32
"""Above this number of blocking streams in a context, edges of the legacy default stream are left out."""

_LONGEST_LAG_NS = 10_000


@dataclass(frozen=True, slots=True)
class CrossStream:
    """The edges (rows of `Operations`), and how many event waits were linked by id or by inference."""

    edges: Edges
    recorded: int
    inferred: int


def cross_stream_edges(timeline: Timeline, order: StreamOrder) -> CrossStream:
    """All edges between streams that the measured times do not contradict."""
    before, after, inferred = _event_waits(timeline, order)
    events = _edges(timeline.operations, before, after, EdgeKind.EVENT)
    legacy = _edges(timeline.operations, *_legacy_stream(timeline, order), EdgeKind.LEGACY_STREAM)
    graph = _edges(timeline.operations, *_inside_graphs(timeline, order), EdgeKind.GRAPH)
    return CrossStream(join((events, legacy, graph)), int((~inferred).sum()), int(inferred.sum()))


def _edges(operations: Operations, before: Int64Array, after: Int64Array, kind: EdgeKind) -> Edges:
    """Edges with a lag as measured but at most a short one; an edge against the measured order is no dependency."""
    pause = operations.start_ns[after] - operations.end_ns[before]
    keep = pause >= -CLOCK_SLACK_NS
    lag = np.minimum(pause, _LONGEST_LAG_NS)
    return Edges.of(before[keep], after[keep], lag[keep], kind)


def _event_waits(timeline: Timeline, order: StreamOrder) -> tuple[Int64Array, Int64Array, npt.NDArray[np.bool_]]:
    """Producer and consumer of every stream-waits-event call, and whether record and wait were linked by inference."""
    nothing = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_)
    syncs, events = timeline.trace.table(Syncs), timeline.trace.table(EventRecords)
    if syncs is None or events is None or not len(events):
        return nothing
    waits = np.flatnonzero(syncs.kind == SyncKind.STREAM_WAIT_EVENT)
    calls = timeline.calls
    waited = match((calls.process, calls.correlation), (syncs.process[waits], syncs.correlation[waits]))
    recorded = match((calls.process, calls.correlation), (events.process, events.correlation))
    waits, waited = waits[waited != NO_ROW], waited[waited != NO_ROW]
    if not len(waits) or not (recorded != NO_ROW).any():
        return nothing
    event, inferred = _linked(timeline, waits, waited, recorded)
    known = event != NO_ROW
    waits, waited, event, inferred = waits[known], waited[known], event[known], inferred[known]
    source = order.number(stream_key(events.process[event], events.context[event], events.stream[event]))
    target = order.number(stream_key(syncs.process[waits], syncs.context[waits], syncs.stream[waits]))
    before = order.last_before(source, calls.start_ns[recorded[event]])
    after = order.first_after(target, calls.start_ns[waited])
    known = (before != NO_ROW) & (after != NO_ROW)
    return before[known], after[known], inferred[known]


def _linked(
    timeline: Timeline, waits: npt.NDArray[np.intp], waited: Int64Array, recorded: Int64Array
) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Record of each wait: by eventSyncId, else the last record of the same event before the wait (inferred)."""
    syncs, events = timeline.trace.table(Syncs), timeline.trace.table(EventRecords)
    if syncs is None or events is None:
        return np.full(len(waits), NO_ROW, np.int64), np.zeros(len(waits), np.bool_)
    event = match((events.process, events.event_sync), (syncs.process[waits], syncs.event_sync[waits]))
    event = np.where(recorded[np.maximum(event, 0)] == NO_ROW, NO_ROW, event)
    missing = np.flatnonzero(event == NO_ROW)
    usable = np.flatnonzero(recorded != NO_ROW)
    _, group = np.unique(
        np.concatenate(
            (
                stream_key(events.process[usable], events.context[usable], events.event[usable]),
                stream_key(syncs.process[waits], syncs.context[waits], syncs.event[waits]),
            )
        ),
        return_inverse=True,
    )
    times = timeline.calls.start_ns
    clock = ThreadClock.of(times[recorded[usable]], times[waited])
    keys = clock.key(group[: len(usable)].astype(np.int64), times[recorded[usable]])
    sequence = np.argsort(keys, kind="stable")
    wanted = clock.key(group[len(usable) :].astype(np.int64)[missing], times[waited[missing]])
    position = np.searchsorted(keys[sequence], wanted, side="right") - 1
    found = usable[sequence[np.maximum(position, 0)]]
    same = (position >= 0) & (group[sequence[np.maximum(position, 0)]] == group[len(usable) :][missing])
    event[missing] = np.where(same, found, NO_ROW)
    inferred = np.zeros(len(waits), np.bool_)
    inferred[missing] = True
    return event, inferred


def _legacy_stream(timeline: Timeline, order: StreamOrder) -> tuple[Int64Array, Int64Array]:
    """Pairs by the rule of the legacy default stream: it waits for all blocking streams, and they wait for it."""
    streams = timeline.trace.table(Streams)
    empty = np.empty(0, np.int64)
    if streams is None or not len(streams):
        return empty, empty
    number = order.number(stream_key(streams.process, streams.context, streams.stream))
    known = number != NO_ROW
    number, flag = number[known], streams.flag[known]
    context = order.keys[number] >> 32
    before, after = [empty], [empty]
    for null in number[flag == StreamFlag.NULL].tolist():
        blocking = number[(flag == StreamFlag.BLOCKING) & (context == order.keys[null] >> 32)]
        if len(blocking) > MAX_BLOCKING_STREAMS:
            continue
        for stream in blocking.tolist():
            for first, then in ((stream, null), (null, stream)):
                pair = _each_after_last(timeline, order, first, then)
                before.append(pair[0])
                after.append(pair[1])
    return np.concatenate(before), np.concatenate(after)


def _each_after_last(timeline: Timeline, order: StreamOrder, first: int, then: int) -> tuple[Int64Array, Int64Array]:
    """Every operation of `then` with the last operation of `first` submitted before it, told once a change."""
    rows = np.flatnonzero(order.of_row == then)
    launch = timeline.launch[rows]
    rows, launch = rows[launch != NO_ROW], launch[launch != NO_ROW]
    found = order.last_before(np.full(len(rows), first, np.int64), timeline.calls.start_ns[launch])
    keep = found != NO_ROW
    rows, found = rows[keep], found[keep]
    news = np.concatenate((np.ones(min(1, len(found)), np.bool_), found[1:] != found[:-1]))
    return found[news], rows[news].astype(np.int64)


def _inside_graphs(timeline: Timeline, order: StreamOrder) -> tuple[Int64Array, Int64Array]:
    """Nodes of one graph replay that their own stream does not explain follow the node that ended last (inferred)."""
    operations = timeline.operations
    rows = np.flatnonzero(timeline.from_graph)
    previous = order.predecessor[rows]
    explained = (previous != NO_ROW) & (
        operations.start_ns[rows] - operations.end_ns[np.maximum(previous, 0)] <= LONGEST_DRAIN_NS
    )
    ended = _last_to_end(operations)[rows]
    same = (ended != NO_ROW) & (timeline.launch[np.maximum(ended, 0)] == timeline.launch[rows])
    keep = ~explained & same
    return ended[keep], rows[keep].astype(np.int64)


def _last_to_end(operations: Operations) -> Int64Array:
    """For every row, the earlier row of its device that ended last, if it had ended by then; else NO_ROW."""
    if not len(operations):
        return np.empty(0, np.int64)
    clock = ThreadClock.of(operations.start_ns, operations.end_ns)
    reach = clock.key(operations.device, operations.end_ns)
    latest = np.maximum.accumulate(reach)
    setter = np.maximum.accumulate(np.where(reach == latest, np.arange(len(latest)), 0))
    found = np.concatenate(([NO_ROW], setter[:-1])).astype(np.int64)
    at = np.maximum(found, 0)
    fits = (operations.device[at] == operations.device) & (operations.end_ns[at] <= operations.start_ns)
    return np.where((found != NO_ROW) & fits, found, NO_ROW)
