"""Innermost NVTX range and its path at any moment of any thread, and the steps of a program."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import FRAMEWORK_DOMAINS, NvtxRanges
from stallscope.model.names import Names
from stallscope.timeline.calls import ThreadClock
from stallscope.timeline.intervals import Int64Array, IntervalSet, expand, union

# Domains in which tools and libraries annotate themselves: they are no part of the user's nesting.
TOOL_DOMAINS = r"(?i)^(nccl|cccl|cub|thrust|gil trace|cublas|cudnn|cusolver|cusparse|tsl|rmm|libcudf|legate|ucx)"

MIN_STEPS = 3
"""A range name must repeat this often on one thread before its ranges count as steps."""
MIN_STEP_COVER = 0.3
"""Steps follow each other: from the first to the last they cover at least this part of the time."""
MAX_NESTING = 512
"""Ranges nested deeper than this are left out of the tree: they come from pushes that nobody popped."""
_NAME = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class StepRanges:
    """The repeated outer range that stands for one iteration."""

    name: int
    thread: int
    starts: Int64Array
    ends: Int64Array


class RangeTree:
    """Push/pop ranges of all threads as forests; queries are arrays of (thread, time)."""

    def __init__(self, ranges: NvtxRanges, names: Names, process_of_thread: npt.NDArray[np.int32]) -> None:
        own = ~names.matching(TOOL_DOMAINS)[ranges.domain] if len(ranges) else np.empty(0, np.bool_)
        order = np.flatnonzero(own)
        order = order[np.lexsort((-ranges.end_ns[order], ranges.start_ns[order], ranges.thread[order]))]
        self._clock = ThreadClock.of(ranges.start_ns[order], ranges.end_ns[order])
        order = order[_shallow(ranges, order, self._clock)]
        self.ranges = ranges.take(order)
        self._starts = self._clock.key(self.ranges.thread, self.ranges.start_ns)
        self.parent = _parents(self._starts, self._clock.key(self.ranges.thread, self.ranges.end_ns))
        self._main = _annotated_threads(self.ranges, process_of_thread)
        recorded = names.matching(FRAMEWORK_DOMAINS)[self.ranges.domain] if len(order) else np.empty(0, np.bool_)
        self._annotations = np.flatnonzero(~recorded)

    def innermost(self, thread: npt.NDArray[np.int32], times: Int64Array) -> Int64Array:
        """Row of the innermost range open on the thread at the time, or NO_ROW."""
        if not len(self.ranges):
            return np.full(len(times), NO_ROW, np.int64)
        row = np.searchsorted(self._starts, self._clock.key(thread, times), side="right") - 1
        row = np.where((thread == NO_ROW) | (row < 0), NO_ROW, row).astype(np.int64)
        row[(row != NO_ROW) & (self.ranges.thread[row] != thread)] = NO_ROW
        pending = np.flatnonzero((row != NO_ROW) & (self.ranges.end_ns[row] <= times))
        while len(pending):  # as many rounds as ranges nest
            row[pending] = self.parent[row[pending]]
            ended = (row[pending] != NO_ROW) & (self.ranges.end_ns[row[pending]] <= times[pending])
            pending = pending[ended]
        return row

    def at(
        self, thread: npt.NDArray[np.int32], process: npt.NDArray[np.int32], times: Int64Array
    ) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
        """Innermost range, and whether it is another thread's (same process, same moment).

        PyTorch's autograd thread launches the backward pass under the main thread's ranges; the flag marks such paths.
        """
        own = self.innermost(thread, times)
        lost = np.flatnonzero(own == NO_ROW)
        of_process = np.minimum(process[lost], len(self._main) - 1)  # the last stands for those without threads
        own[lost] = self.innermost(self._main[of_process], times[lost])
        borrowed = np.zeros(len(own), np.bool_)
        borrowed[lost] = own[lost] != NO_ROW
        return own, borrowed

    def path(self, row: int) -> tuple[int, ...]:
        """Name ids from the outermost range to the given one."""
        names: list[int] = []
        while row != NO_ROW:
            names.append(int(self.ranges.name[row]))
            row = int(self.parent[row])
        return tuple(reversed(names))

    def path_ids(self, rows: Int64Array) -> Int64Array:
        """A small integer for the path of each row, 0 for NO_ROW; ranges with the same path share it."""
        return np.where(rows == NO_ROW, 0, self._paths[rows])

    @cached_property
    def _paths(self) -> Int64Array:
        """Path id of every range, level by level: the parent's id and the own name make the id."""
        ids = np.zeros(max(len(self.ranges), 1), np.int64)
        pending = np.flatnonzero(self.parent == NO_ROW)
        used = 1
        children = np.argsort(self.parent, kind="stable")
        ordered = self.parent[children]
        while len(pending):
            above = np.where(self.parent[pending] == NO_ROW, 0, ids[self.parent[pending]])
            _, own = np.unique(above * (1 << 31) + self.ranges.name[pending], return_inverse=True)
            ids[pending] = own + used
            used += int(own.max()) + 1
            first, after = np.searchsorted(ordered, pending), np.searchsorted(ordered, pending, side="right")
            pending = children[expand(first, after)[1]]
        return ids

    def named(self, name: str, names: Names) -> IntervalSet:
        """Time covered by the ranges of that text, on any thread."""
        wanted = np.array([text == name for text in names], np.bool_)
        rows = np.flatnonzero(wanted[self.ranges.name]) if len(self.ranges) else np.empty(0, np.int64)
        return union(self.ranges.start_ns[rows], self.ranges.end_ns[rows])

    def steps(self) -> StepRanges | None:
        """The outermost name that repeats most evenly: at least MIN_STEPS times, covering the most time."""
        roots = self._outermost_annotations()
        best: tuple[int, StepRanges] | None = None
        group = self.ranges.thread[roots].astype(np.int64) * (1 << 31) + self.ranges.name[roots]
        keys, sizes = np.unique(group, return_counts=True)
        together = roots[np.argsort(group, kind="stable")]
        after = np.cumsum(sizes)
        for key, size, end in zip(keys.tolist(), sizes.tolist(), after.tolist(), strict=True):
            if size < MIN_STEPS:
                continue
            rows = together[end - size : end]
            found = StepRanges(key & _NAME, key >> 31, self.ranges.start_ns[rows], self.ranges.end_ns[rows])
            covered = int((found.ends - found.starts).sum())
            if covered < MIN_STEP_COVER * int(found.ends.max() - found.starts.min()):
                continue
            if best is None or covered > best[0]:
                best = (covered, found)
        return best[1] if best else None

    def _outermost_annotations(self) -> Int64Array:
        """Annotations inside no other annotation; operators and Python frames around them do not count."""
        rows = self._annotations
        ends = self._clock.key(self.ranges.thread[rows], self.ranges.end_ns[rows])
        outermost: Int64Array = rows[_parents(self._starts[rows], ends) == NO_ROW]
        return outermost


def _parents(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Row of the enclosing range of each row (sorted by start, longest first), or NO_ROW.

    Properly nested ranges are solved level by level; ranges that cross (start/end ranges may) need the stack sweep.
    """
    depth = _depths(starts, ends)
    parent = np.full(len(starts), NO_ROW, np.int64)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(depth == level)
        parent[rows] = above[np.searchsorted(above, rows) - 1]
        above = rows
    inner = np.flatnonzero(parent != NO_ROW)
    nested = ends[parent[inner]] >= ends[inner]
    return parent if nested.all() else _parents_by_stack(starts, ends)


def _shallow(ranges: NvtxRanges, order: Int64Array, clock: ThreadClock) -> npt.NDArray[np.bool_]:
    """Ranges inside fewer than MAX_NESTING others. Programs that push without popping nest without end."""
    thread = ranges.thread[order]
    starts, ends = clock.key(thread, ranges.start_ns[order]), clock.key(thread, ranges.end_ns[order])
    return _depths(starts, ends) < MAX_NESTING


def _depths(starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Number of earlier ranges still open where each begins."""
    ended = np.searchsorted(np.sort(ends), starts, side="right")
    return np.arange(len(starts), dtype=np.int64) - ended


def _parents_by_stack(starts: Int64Array, ends: Int64Array) -> Int64Array:
    parent = np.full(len(starts), NO_ROW, np.int64)
    stack: list[int] = []
    stops = ends.tolist()
    for row, start in enumerate(starts.tolist()):
        while stack and stops[stack[-1]] <= start:
            stack.pop()
        if stack:
            parent[row] = stack[-1]
        stack.append(row)
    return parent


def _annotated_threads(ranges: NvtxRanges, process_of_thread: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Thread with the most ranges of every process, or NO_ROW, as for any process behind the last one with a thread."""
    processes = int(process_of_thread.max()) + 1 if len(process_of_thread) else 0
    main = np.full(processes + 1, NO_ROW, np.int32)
    threads, counts = np.unique(ranges.thread, return_counts=True)
    for thread in threads[np.argsort(counts, kind="stable")]:
        main[process_of_thread[thread]] = thread
    return main
