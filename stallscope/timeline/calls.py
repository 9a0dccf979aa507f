"""Host API calls by what they do to the device, and exact questions about what a thread was doing."""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Column
from stallscope.model.events import ApiCalls, Span
from stallscope.model.names import Names
from stallscope.timeline.grouping import regrouping
from stallscope.timeline.intervals import Int64Array, expand
from stallscope.timeline.native import halves, sweeps, words
from stallscope.timeline.rows import picked


class CallKind(IntEnum):
    """What an API call asks for. Names of the CUDA runtime, the driver and HIP map to the same kinds."""

    OTHER = 0
    LAUNCH = 1
    GRAPH_LAUNCH = 2
    COPY = 3
    COPY_BLOCKING = 4
    MEMSET = 5
    SYNC_STREAM = 6
    SYNC_DEVICE = 7
    SYNC_EVENT = 8
    ALLOC = 9
    FREE = 10
    ALLOC_PINNED = 11
    ALLOC_ASYNC = 12
    ALLOC_MAP = 13
    MODULE_LOAD = 14
    JIT = 15
    GRAPH_BUILD = 16
    CONTEXT = 17
    POLL = 18
    ALLOC_MANAGED = 19
    PREFETCH = 20
    STREAM_WAIT = 21
    EVENT_RECORD = 22


# First match wins; patterns are searched in the name without its ABI suffix.
_PATTERNS: tuple[tuple[CallKind, str], ...] = (
    (CallKind.GRAPH_LAUNCH, r"^(cuda|cu|hip)GraphLaunch$"),
    (
        CallKind.GRAPH_BUILD,
        r"^(cuda|cu|hip)(Graph(Instantiate|Exec|Create|Add|Clone|Upload|Destroy)|(Thread)?Stream(BeginCapture|EndCapture))",
    ),
    (
        CallKind.LAUNCH,
        r"^(cuda|cu|hip)(Ext|Module)?(Launch|LaunchCooperative)(Kernel|Grid|$)|^hipExt(Module)?LaunchKernel",
    ),
    (CallKind.PREFETCH, r"^(cuda|cu|hip)MemPrefetch"),
    (CallKind.COPY, r"^(cuda|cu|hip)Memcpy.*(Async|Batch)"),
    (CallKind.COPY_BLOCKING, r"^(cuda|cu|hip)Memcpy"),
    (CallKind.MEMSET, r"^(cuda|hip)Memset|^cuMemset"),
    (CallKind.POLL, r"^(cuda|cu|hip)(Event|Stream)Query$"),
    (CallKind.SYNC_EVENT, r"^(cuda|cu|hip)EventSynchronize$"),
    (CallKind.SYNC_STREAM, r"^(cuda|cu|hip)StreamSynchronize$"),
    (CallKind.SYNC_DEVICE, r"^(cuda|hip)(Device|Thread)Synchronize$|^cuCtxSynchronize$"),
    (CallKind.STREAM_WAIT, r"^(cuda|cu|hip)StreamWaitEvent$"),
    (CallKind.EVENT_RECORD, r"^(cuda|cu|hip)EventRecord"),
    (
        CallKind.ALLOC_ASYNC,
        r"^(cuda|hip)(MallocAsync|MallocFromPoolAsync|FreeAsync|MemPool)|^cuMem(Alloc|Free)(FromPool)?Async|^cuMemPool",
    ),
    (CallKind.ALLOC_MANAGED, r"^(cuda|hip)MallocManaged$|^cuMemAllocManaged$"),
    (
        CallKind.ALLOC_PINNED,
        (
            r"^(cuda|hip)(HostAlloc|MallocHost|HostMalloc|HostRegister|HostUnregister|FreeHost|HostFree)$"
            r"|^cuMem(HostAlloc|AllocHost|FreeHost|HostRegister|HostUnregister)$"
        ),
    ),
    (CallKind.ALLOC, r"^(cuda|hip)(Malloc|MallocPitch|Malloc3D|MallocArray)$|^cuMemAlloc(Pitch)?$"),
    (CallKind.FREE, r"^(cuda|hip)(Free|FreeArray)$|^cuMemFree$"),
    (
        CallKind.ALLOC_MAP,
        r"^cuMem(Create|Map|MapArrayAsync|SetAccess|Unmap|Release|AddressReserve|AddressFree)$|^hipMem(Create|Map|SetAccess|Unmap|Release|AddressReserve|AddressFree)$",
    ),
    (CallKind.JIT, r"^(cuLink|nvrtc|nvJitLink|hiprtc)"),
    (
        CallKind.MODULE_LOAD,
        r"^(cu|hip)(ModuleLoad|LibraryLoad|ModuleGetFunction|LibraryGetKernel|KernelGetFunction|LibraryGetModule)|^cudaLibraryLoad|^hipModuleLoad",
    ),
    (
        CallKind.CONTEXT,
        r"^cu(CtxCreate|DevicePrimaryCtxRetain|Init)$|^cudaInitDevice$|^hipInit$|^cuDevicePrimaryCtxReset$|^cudaDeviceReset$",
    ),
)

LAUNCHES = (CallKind.LAUNCH, CallKind.GRAPH_LAUNCH)
SYNCS = (CallKind.SYNC_STREAM, CallKind.SYNC_DEVICE, CallKind.SYNC_EVENT)


class HostCalls(Span):
    """API calls sorted by (thread, start), with their kind; `outer` marks calls not nested in another of the thread."""

    process = Column(np.int32, "index into Trace.processes")
    thread = Column(np.int32, "index into Trace.threads")
    correlation = Column(np.int64, "CUPTI correlation id, unique within a process; 0 = none")
    name = Column(np.int32, "call without its ABI suffix")
    result = Column(np.int32, "CUDA error code returned")
    kind = Column(np.int8, "CallKind")
    outer = Column(np.bool_, "not inside another call of the same thread")


def lasting(calls: HostCalls, kind: CallKind, least_ns: int) -> npt.NDArray[np.intp]:
    """Rows of calls of a kind that took at least this long."""
    rows = np.flatnonzero(calls.kind == kind)
    return rows[calls.end_ns[rows] - calls.start_ns[rows] >= least_ns]


def kinds_of(names: Names) -> npt.NDArray[np.int8]:
    """CallKind of every distinct name."""
    kinds = np.zeros(len(names), np.int8)
    for kind, pattern in reversed(_PATTERNS):
        kinds[names.matching(pattern)] = kind
    return kinds


def host_calls(calls: ApiCalls, names: Names) -> HostCalls:
    """Sort by thread and time, classify, and mark the outermost calls."""
    order = regrouping(calls.thread, calls.start_ns, calls.end_ns, longest_first=True)
    ordered = calls if order is None else calls.take(order)
    found = HostCalls.lazily(
        len(ordered),
        **{name: ordered.shared(name) for name in ApiCalls.COLUMNS},
        kind=lambda: picked(kinds_of(names), found.read("name")),
        outer=lambda: _outermost(found.thread, found.start_ns, found.end_ns),
    )
    return found


def _outermost(thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array) -> npt.NDArray[np.bool_]:
    native = sweeps()
    if native is not None:
        flags = np.empty(len(starts), np.uint8)
        native("outermost", halves(thread), words(starts), words(ends), len(starts), flags)
        return flags.view(np.bool_)
    if not len(starts):
        return np.empty(0, np.bool_)
    clock = ThreadClock.of(starts, ends)
    reach = np.maximum.accumulate(clock.place(thread, ends))
    outer = np.ones(len(starts), np.bool_)
    outer[1:] = clock.place(thread, starts)[1:] >= reach[:-1]
    return outer


class ThreadClock:
    """One number line for all threads: thread t owns the stretch [t * span, (t + 1) * span).

    It lets one `searchsorted` answer a question for every thread at once.
    """

    def __init__(self, origin_ns: int, span_ns: int) -> None:
        self.origin_ns = origin_ns
        self.span_ns = span_ns

    @classmethod
    def of(cls, *times: Int64Array) -> ThreadClock:
        """A clock that holds all the given times."""
        filled = [t for t in times if len(t)]
        low = min((int(t.min()) for t in filled), default=0)
        high = max((int(t.max()) for t in filled), default=0)
        return cls(low - 1, high - low + 3)

    def key(self, thread: npt.NDArray[np.int32] | Int64Array, times: Int64Array) -> Int64Array:
        """Position on the common line; times beyond the clock are before, or after, all of the thread's own."""
        inside = np.clip(times - self.origin_ns, 0, self.span_ns - 1)
        return thread.astype(np.int64) * self.span_ns + inside

    def place(self, thread: npt.NDArray[np.int32] | Int64Array, times: Int64Array) -> Int64Array:
        """The same for times the clock was made of, which need no bounds."""
        line = thread.astype(np.int64)
        line *= self.span_ns
        line += times
        line -= self.origin_ns
        return line

    def read(self, line: Int64Array) -> tuple[npt.NDArray[np.int32], Int64Array]:
        """Thread and time of places on the line."""
        return (line // self.span_ns).astype(np.int32), line % self.span_ns + self.origin_ns


class SpanIndex:
    """Which of some disjoint spans of a thread, by (thread, start), overlap another? Asked with arrays."""

    def __init__(self, thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array) -> None:
        self.thread = thread
        self.starts = starts
        self.ends = ends

    def overlapping(
        self, thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Pairs (query, span) with a common nanosecond; queries without a thread (NO_ROW) have none."""
        native = sweeps()
        if native is None:
            return expand(*self._between(thread, starts, ends))
        first, after = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
        native("overlaps", *self._native(), *_queries(thread, starts, ends), first, after)
        return expand(first, after)

    def longest_outside(self, thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array) -> Int64Array:
        """Longest part of each span [start, end) outside the thread's spans; 0 where the thread is unknown."""
        native = sweeps()
        if native is None:
            return self._longest_outside(thread, starts, ends)
        longest = np.empty(len(starts), np.int64)
        native("stretches", *self._native(), *_queries(thread, starts, ends), longest)
        return longest

    def _native(self) -> tuple[npt.NDArray[Any] | int, ...]:
        threads = int(self.thread[-1]) + 1 if len(self.thread) else 0
        return halves(self.thread), words(self.starts), words(self.ends), len(self.thread), threads

    @cached_property
    def _lines(self) -> tuple[ThreadClock, Int64Array, Int64Array]:
        clock = ThreadClock.of(self.starts, self.ends)
        return clock, clock.place(self.thread, self.starts), clock.place(self.thread, self.ends)

    def _between(
        self, thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        clock, line_starts, line_ends = self._lines
        first = np.searchsorted(line_ends, clock.key(thread, starts), side="right")
        after = np.searchsorted(line_starts, clock.key(thread, ends), side="left")
        return first, np.where(thread != NO_ROW, after, first)

    def _longest_outside(self, thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array) -> Int64Array:
        span: Int64Array = np.where(thread == NO_ROW, 0, ends - starts)
        query, at = expand(*self._between(thread, starts, ends))
        if not len(query):
            return span
        begins = np.maximum(self.starts[at], starts[query])
        stops = np.minimum(self.ends[at], ends[query])
        first = np.concatenate((np.ones(1, np.bool_), query[1:] != query[:-1]))
        last = np.concatenate((first[1:], np.ones(1, np.bool_)))
        lead = begins - np.where(first, starts[query], np.concatenate((np.zeros(1, np.int64), stops[:-1])))
        tail = np.where(last, ends[query] - stops, 0)
        heads = np.flatnonzero(first)
        span[query[heads]] = np.maximum.reduceat(np.maximum(lead, tail), heads)
        return span


class CallIndex(SpanIndex):
    """The same for some disjoint calls; answers are rows of the table of calls."""

    def __init__(self, calls: HostCalls, rows: Int64Array) -> None:
        every = len(rows) == len(calls)  # then no copies are needed
        chosen = calls if every else calls.take(rows)
        super().__init__(chosen.thread, chosen.start_ns, chosen.end_ns)
        self.rows = rows

    def overlapping(
        self, thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """Pairs (query, call row) with a common nanosecond; queries without a thread (NO_ROW) have none."""
        query, span = super().overlapping(thread, starts, ends)
        return query, self.rows[span]


def _queries(thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array) -> tuple[npt.NDArray[Any] | int, ...]:
    return halves(thread), words(starts), words(ends), len(starts)
