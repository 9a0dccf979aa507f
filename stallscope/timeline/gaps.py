"""Idle gaps of a device and what the launching thread did in them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Column
from stallscope.model.events import Span
from stallscope.timeline.calls import CallIndex, HostCalls, ThreadClock
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.native import halves, sweeps, words
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import Picked, RowArray, picked

LONGEST_LATENCY_NS = 100_000
"""From the return of a launch call to the start on an idle device. Measured: 2-3 µs on A100, H100 and H200, 5-25 µs
under ROCm's profiler, at most 84 µs in 45 captures with 40,000 late launches; what takes longer waits for something."""


class Gaps(Span):
    """Spans in which nothing ran on a device, sorted by (device, start).

    The successor is the operation that ends the gap. `host_end_ns` is when its launch call began, cut to the gap: up to
    there the device waits for the host, from there for the call and for what follows it. `stretch_ns` is the longest
    time in that host part which the launching thread spent outside any API call. `late_end_ns` ends what the host is
    to blame for: all of the gap, unless the successor lay in its stream far longer than a launch takes to reach the
    device. Starts, ends, devices and launches are looked up in the operations beside the gap: ask for those of some
    rows (`at`) or once for all (`read`).
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
    start, end = begun(), ended()
    call, in_graph = picked(launch, after), picked(graph, after)
    known = call != NO_ROW
    row = np.maximum(call, 0)
    called = picked(calls.start_ns, row) if len(calls) else np.zeros(len(call), np.int64)
    returned = picked(calls.end_ns, row) if len(calls) else np.zeros(len(call), np.int64)
    thread = _threads(operations, calls, after, call)
    host_end = np.where(known, np.clip(called, start, end), end)
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
        host_end_ns=host_end,
        stretch_ns=_longest_stretch(calls, thread, start, host_end),
        late_end_ns=_late_end(known & ~in_graph, np.clip(returned, start, end), end),
        queued=known & (returned <= start),
        in_graph=known & same & in_graph,
    )


def _late_end(known: npt.NDArray[np.bool_], returned: Int64Array, end: Int64Array) -> Int64Array:
    """Where the host's part of each gap ends: a call that begins later cannot have delayed what lay in the queue."""
    return np.where(known & (end - returned > LONGEST_LATENCY_NS), returned, end)


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
    return CallIndex(calls, np.flatnonzero(calls.outer)).longest_outside(thread, start, end)
