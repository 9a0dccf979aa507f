"""Idle gaps of a device and what the launching thread did in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Column, Packed
from stallscope.model.events import Span
from stallscope.model.packing import packed
from stallscope.timeline.calls import HostCalls, SpanIndex, ThreadClock
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.native import halves, sweeps, words
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import Found, Picked, RowArray, picked

LONGEST_LATENCY_NS = 100_000
"""From the return of a launch call to the start on an idle device. Measured: 2-3 µs on A100, H100 and H200, 5-25 µs
under ROCm's profiler, at most 84 µs in 45 captures with 40,000 late launches; what takes longer waits for something."""

LATENCY_NS = 10_000
"""Up to this long a gap before a queued operation is the device's own latency (launch.drain)."""


class Gaps(Span):
    """Spans in which nothing ran on a device, sorted by (device, start).

    The successor is the operation that ends the gap. `host_end_ns` is when its launch call began, cut to the gap: up to
    there the device waits for the host, from there for the call and for what follows it. `stretch_ns` is the longest
    time in that host part which the launching thread spent outside any API call. `late_end_ns` ends what the host is
    to blame for: all of the gap, unless the successor lay in its stream far longer than a launch takes to reach the
    device. Times, devices and launches are made of the operations beside the gap: ask for those of some rows (`at`) or
    once for all (`read`).
    """

    device = Column(np.int32, "index into Trace.devices")
    before = Column(np.int32, "row in Operations that ended last before the gap")
    after = Column(np.int32, "row in Operations that ends the gap")
    launch = Column(np.int32, "row in HostCalls of the successor's launch; -1 = none known")
    thread = Column(np.int32, "thread that launched the successor, or the process's only calling thread; -1 = unknown")
    host_end_ns = Column(np.int64, "end of the host part")
    stretch_ns = Column(np.int64, "longest time outside API calls in the host part")
    late_end_ns = Column(np.int64, "end of the part that a late launch explains; then the queue held the successor")
    queued = Column(np.bool_, "the successor's launch call had returned before the gap began")
    in_graph = Column(np.bool_, "predecessor and successor are nodes of the same graph replay")


def find_gaps(operations: Operations, launch: RowArray, calls: HostCalls, graph: npt.NDArray[np.bool_]) -> Gaps:
    """All gaps between consecutive operations of a device, over all its streams, contexts and processes."""
    if not len(operations):
        return Gaps.empty()
    neighbours = _neighbours(operations.device, operations.start_ns, operations.end_ns)
    return _with_host(operations, calls, neighbours, launch, graph)


def held_gaps(gaps: Gaps) -> Int64Array:
    """Gaps in which the successor lay in its stream for longer than launch latency, graph nodes aside."""
    length = gaps.read("end_ns") - gaps.read("start_ns")
    late = np.flatnonzero(length > LATENCY_NS)  # nothing is held for longer than its gap
    late = late[~gaps.in_graph[late] & (gaps.at(Gaps.launch, late) != NO_ROW)]
    held: Int64Array = late[gaps.at(Gaps.end_ns, late) - held_from(gaps, late) > LATENCY_NS]
    return held


def held_from(gaps: Gaps, gap: Int64Array) -> Int64Array:
    """When the queue, and no longer the host, delays the successor of each gap; the gap's end where it never does."""
    return np.where(gaps.queued[gap], gaps.at(Gaps.start_ns, gap), gaps.at(Gaps.late_end_ns, gap))


def _neighbours(device: npt.NDArray[np.int32], start: Int64Array, end: Int64Array) -> tuple[RowArray, RowArray]:
    """The operation that ends last before each gap and the one that ends it; rows are by (device, start)."""
    native = sweeps()
    if native is None:
        return _neighbours_by_keys(device, start, end)
    found = np.empty(len(start), np.int32), np.empty(len(start), np.int32)
    size = native("gaps", halves(device), words(start), words(end), len(start), *found)
    return found[0][:size], found[1][:size]


def _neighbours_by_keys(device: npt.NDArray[np.int32], start: Int64Array, end: Int64Array) -> tuple[RowArray, RowArray]:
    clock = ThreadClock.of(start, end)
    reach_key = clock.key(device, end)
    latest = np.maximum.accumulate(reach_key)
    after = np.flatnonzero((clock.key(device, start)[1:] > latest[:-1]) & (device[1:] == device[:-1])) + 1
    # The row whose end is the running maximum: carry the index of the last record-setter forward.
    setter = np.maximum.accumulate(np.where(reach_key == latest, np.arange(len(latest)), 0))
    return setter[after - 1].astype(np.int32), after.astype(np.int32)


def _with_host(
    operations: Operations,
    calls: HostCalls,
    neighbours: tuple[RowArray, RowArray],
    launch: RowArray,
    graph: npt.NDArray[np.bool_],
) -> Gaps:
    before, after = neighbours
    begun, ended = Picked(operations.end_ns, before), Picked(operations.start_ns, after)
    call, in_graph = picked(launch, after), picked(graph, after)
    thread = _threads(operations, calls, after, call)
    span = begun(), ended()
    host, stretch = _host_part(calls, call, thread, span)
    held, queued = _held_part(calls, call, in_graph, span)
    process = operations.process
    same = (picked(launch, before) == call) & (picked(process, before) == picked(process, after))
    return Gaps.lazily(
        len(after),
        start_ns=begun,
        end_ns=ended,
        device=Picked(operations.device, after),
        before=before,
        after=after,
        launch=Picked(launch, after),
        thread=thread,
        host_end_ns=Found(lambda some: begun.at(some) + host.at(some)),
        stretch_ns=stretch,
        late_end_ns=Found(lambda some: ended.at(some) - held.at(some)),
        queued=queued,
        in_graph=(call != NO_ROW) & same & in_graph,
    )


def _host_part(
    calls: HostCalls, call: RowArray, thread: npt.NDArray[np.int32], span: tuple[Int64Array, Int64Array]
) -> tuple[Packed, Packed]:
    """How long each gap waits for the host to launch, and the longest time in that outside API calls; 0 as a rule."""
    start, end = span
    until = end.copy()
    if len(calls):
        np.clip(picked(calls.start_ns, np.maximum(call, 0)), start, end, out=until, where=call != NO_ROW)
    stretch = packed(_longest_stretch(calls, thread, start, until))
    until -= start
    return packed(until), stretch


def _held_part(
    calls: HostCalls, call: RowArray, in_graph: npt.NDArray[np.bool_], span: tuple[Int64Array, Int64Array]
) -> tuple[Packed, npt.NDArray[np.bool_]]:
    """How long the queue held the successor after its call had returned, and whether it did so all along.

    A call that begins later than the other one returned cannot have delayed what lay in the queue. 0 as a rule, and
    where it took no longer than a launch may take.
    """
    start, end = span
    if not len(calls):
        return packed(np.zeros(len(call), np.int8)), np.zeros(len(call), np.bool_)
    returned = picked(calls.end_ns, np.maximum(call, 0))
    known = call != NO_ROW
    queued = known & (returned <= start)
    held = np.subtract(end, np.clip(returned, start, end, out=returned), out=returned)
    held[~known | in_graph | (held <= LONGEST_LATENCY_NS)] = 0
    return packed(held), queued


def _threads(operations: Operations, calls: HostCalls, after: RowArray, call: RowArray) -> npt.NDArray[np.int32]:
    """Launching thread of each successor; without a launch row, the process's thread if only one makes calls."""
    if not len(calls):
        return np.full(len(after), NO_ROW, np.int32)
    thread = picked(calls.thread, np.maximum(call, 0))
    unknown = np.flatnonzero(call == NO_ROW)
    thread[unknown] = _only_threads(calls, int(operations.process.max()))[operations.process[after[unknown]]]
    return thread


def _only_threads(calls: HostCalls, highest: int) -> npt.NDArray[np.int32]:
    """The one thread of each process that makes calls, or NO_ROW where there are several or none."""
    first = np.flatnonzero(np.concatenate((np.ones(1, np.bool_), calls.thread[1:] != calls.thread[:-1])))
    thread, process = calls.thread[first], calls.at(HostCalls.process, first)
    only = np.full(max(int(process.max()), highest) + 1, NO_ROW, np.int32)
    only[process] = thread
    only[np.flatnonzero(np.bincount(process) > 1)] = NO_ROW
    return only


def _longest_stretch(calls: HostCalls, thread: npt.NDArray[np.int32], start: Int64Array, end: Int64Array) -> Int64Array:
    """Longest part of each span [start, end) outside the thread's API calls; 0 where the thread is unknown."""
    if not len(calls):
        return np.where(thread == NO_ROW, 0, end - start)
    outer = calls if calls.outer.all() else calls.take(calls.outer)
    return SpanIndex(outer.thread, outer.start_ns, outer.end_ns).longest_outside(thread, start, end)
