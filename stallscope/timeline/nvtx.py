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
from stallscope.timeline.grouping import groups, regrouping
from stallscope.timeline.intervals import Int64Array, IntervalSet, positions, union
from stallscope.timeline.native import halves, sweeps, words
from stallscope.timeline.rows import RowArray, picked, take_over

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
        own = ~names.matching(TOOL_DOMAINS)[ranges.domain]
        found = ranges if own.all() else ranges.take(own)
        order = regrouping(found.thread, found.start_ns, found.end_ns, longest_first=True)
        self._clock = ThreadClock.of(found.start_ns, found.end_ns)
        if order is not None:
            unordered, found = found, found.take(order)
            take_over(unordered, found, order)
        self._nest(found)
        if self._depth.max(initial=0) >= MAX_NESTING:
            self._nest(self.ranges.take(self._depth < MAX_NESTING))
        self._main = _annotated_threads(self.ranges, process_of_thread)
        self._annotates = ~names.matching(FRAMEWORK_DOMAINS)[self.ranges.domain]

    def _nest(self, ranges: NvtxRanges) -> None:
        self.ranges = ranges
        self.parent, self._depth = nesting(*self._line(ranges))

    def _line(self, ranges: NvtxRanges) -> tuple[Int64Array, Int64Array]:
        """Starts and ends on one line for all threads."""
        return self._clock.place(ranges.thread, ranges.start_ns), self._clock.place(ranges.thread, ranges.end_ns)

    def innermost(self, thread: npt.NDArray[np.int32], times: Int64Array) -> RowArray:
        """Row of the innermost range open on the thread at the time, or NO_ROW."""
        if not len(self.ranges):
            return np.full(len(times), NO_ROW, np.int32)
        native, ranges = sweeps(), self.ranges
        if native is None:
            return self._innermost(thread, times)
        columns = halves(ranges.thread), words(ranges.start_ns), words(ranges.end_ns), self.parent
        found = np.empty(len(times), np.int32)
        threads = int(ranges.thread[-1]) + 1
        native("innermost", *columns, len(ranges), threads, halves(thread), words(times), len(times), found)
        return found

    def _innermost(self, thread: npt.NDArray[np.int32], times: Int64Array) -> RowArray:
        starts, _ = self._line(self.ranges)
        last = np.searchsorted(starts, self._clock.key(thread, times), side="right") - 1
        row: RowArray = np.where((thread == NO_ROW) | (last < 0), NO_ROW, last).astype(np.int32)
        row[(row != NO_ROW) & (self.ranges.thread[row] != thread)] = NO_ROW
        pending = np.flatnonzero((row != NO_ROW) & (self.ranges.end_ns[row] <= times))
        while len(pending):  # as many rounds as ranges nest
            row[pending] = self.parent[row[pending]]
            ended = (row[pending] != NO_ROW) & (self.ranges.end_ns[row[pending]] <= times[pending])
            pending = pending[ended]
        return row

    def at(
        self, thread: npt.NDArray[np.int32], process: npt.NDArray[np.int32], times: Int64Array
    ) -> tuple[RowArray, npt.NDArray[np.bool_]]:
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
        names, name = list[int](), self.ranges.name
        while row != NO_ROW:
            names.append(int(name[row]))
            row = int(self.parent[row])
        return tuple(reversed(names))

    def path_ids(self, rows: RowArray) -> npt.NDArray[np.int32]:
        """A small integer for the path of each row, 0 for NO_ROW; ranges with the same path share it."""
        return np.where(rows == NO_ROW, 0, picked(self._paths, np.maximum(rows, 0)))

    @cached_property
    def _paths(self) -> npt.NDArray[np.int32]:
        """Path id of every range, level by level: the parent's id and the own name make the id."""
        ids = np.zeros(max(len(self.ranges), 1), np.int32)
        used = 1
        for level in range(int(self._depth.max(initial=NO_ROW)) + 1):
            rows = np.flatnonzero(self._depth == level)
            above = ids[self.parent[rows]] if level else np.zeros(len(rows), np.int32)
            key = above.astype(np.int64) * (1 << 31) + self.ranges.name[rows]
            same = groups(key)
            rank = np.empty(len(same.first), np.int32)
            rank[np.argsort(key[same.first])] = np.arange(used, used + len(rank))
            ids[rows] = rank[same.of]
            used += len(rank)
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

    def _outermost_annotations(self) -> npt.NDArray[np.intp]:
        """Annotations inside no other annotation; operators and Python frames around them do not count."""
        rows = np.flatnonzero(self._annotates)
        parent, _ = nesting(*self._line(self.ranges.take(rows)))
        outermost: npt.NDArray[np.intp] = rows[parent == NO_ROW]
        return outermost


def nesting(starts: Int64Array, ends: Int64Array) -> tuple[RowArray, npt.NDArray[np.int32]]:
    """Row of the range around each (sorted by start, longest first) or NO_ROW, and how many rows lead from it up."""
    native = sweeps()
    if native is None:
        return _nesting(starts, ends)
    parent, depth = np.empty(len(starts), np.int32), np.empty(len(starts), np.int32)
    native("nesting", words(starts), words(ends), len(starts), parent, depth)
    return parent, depth


def _nesting(starts: Int64Array, ends: Int64Array) -> tuple[RowArray, npt.NDArray[np.int32]]:
    """Properly nested ranges are solved level by level; ranges that cross (start/end ranges may) need a stack."""
    if (ends <= starts).any():  # ended where they begin: counting ends cannot tell whether that was before
        return _nesting_by_stack(starts, ends)
    depth = _depths(starts, ends)
    parent = np.full(len(starts), NO_ROW, np.int32)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(depth == level)
        parent[rows] = above[np.searchsorted(above, rows) - 1]
        above = rows
    inner = np.flatnonzero(parent != NO_ROW)
    nested = ends[parent[inner]] >= ends[inner]
    return (parent, depth) if nested.all() else _nesting_by_stack(starts, ends)


def _depths(starts: Int64Array, ends: Int64Array) -> npt.NDArray[np.int32]:
    """Number of earlier ranges still open where each begins."""
    ended = positions(np.sort(ends, kind="stable"), starts, "right")
    return (np.arange(len(starts)) - ended).astype(np.int32)


def _nesting_by_stack(starts: Int64Array, ends: Int64Array) -> tuple[RowArray, npt.NDArray[np.int32]]:
    parent, depth = np.full(len(starts), NO_ROW, np.int32), np.zeros(len(starts), np.int32)
    stack: list[int] = []
    stops = ends.tolist()
    for row, start in enumerate(starts.tolist()):
        while stack and stops[stack[-1]] <= start:
            stack.pop()
        if stack:
            parent[row] = stack[-1]
        depth[row] = len(stack)
        stack.append(row)
    return parent, depth


def _annotated_threads(ranges: NvtxRanges, process_of_thread: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Thread with the most ranges of every process, or NO_ROW, as for any process behind the last one with a thread."""
    processes = int(process_of_thread.max()) + 1 if len(process_of_thread) else 0
    main = np.full(processes + 1, NO_ROW, np.int32)
    threads, counts = np.unique(ranges.thread, return_counts=True)
    for thread in threads[np.argsort(counts, kind="stable")]:
        main[process_of_thread[thread]] = thread
    return main
