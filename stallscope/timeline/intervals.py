"""Algebra of half-open int64 intervals.

An interval *set* is a pair of equally long arrays `(starts, ends)`, sorted, disjoint, without empty intervals.
Functions that say "intervals" accept any order and overlap. Everything is vectorised and `O(n log n)` or better.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from stallscope.timeline.native import UNSORTED, sweeps, words
from stallscope.timeline.rows import RowArray

Int64Array = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


class IntervalSet(NamedTuple):
    """Sorted, disjoint, non-empty half-open intervals."""

    starts: Int64Array
    ends: Int64Array

    def head(self, size: int) -> IntervalSet:
        """The first intervals, copied where most of the memory that they were made in would be kept for nothing."""
        starts, ends = self.starts[:size], self.ends[:size]
        return IntervalSet(starts.copy(), ends.copy()) if 2 * size < len(self.starts) else IntervalSet(starts, ends)

    def total_ns(self) -> int:
        """Measure of the set."""
        return int((self.ends - self.starts).sum())

    def before(self, times: Int64Array) -> Int64Array:
        """Measure of the set in (-inf, t) for every t; differences of it give exact coverage of any span."""
        if not len(self.starts):
            return np.zeros(len(times), np.int64)
        lengths = self.ends - self.starts
        full = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        row = np.searchsorted(self.starts, times, side="right")
        last = np.maximum(row - 1, 0)
        inside = np.where(row > 0, np.minimum(times - self.starts[last], lengths[last]), 0)
        return np.where(row > 0, full[last] + inside, 0)

    def covered(self, starts: Int64Array, ends: Int64Array) -> Int64Array:
        """Measure of the set inside every span [start, end)."""
        native = sweeps()
        if native is None:
            return self.before(ends) - self.before(starts)
        mine, spans = (words(self.starts), words(self.ends)), (words(starts), words(ends))
        found = np.empty(len(spans[0]), np.int64)
        native("covered", *mine, len(mine[0]), *spans, len(found), found)
        return found


EMPTY = IntervalSet(np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: Int64Array, ends: Int64Array) -> IntervalSet:
    """The set covered by the intervals; touching ones merge, empty ones vanish."""
    native = sweeps()
    if native is None:
        return _union(starts, ends)
    starts, ends = words(starts), words(ends)
    found = IntervalSet(np.empty(len(starts), np.int64), np.empty(len(starts), np.int64))
    size = native("union", starts, ends, len(starts), *found)
    return _union(starts, ends) if size == UNSORTED else found.head(size)


def _union(starts: Int64Array, ends: Int64Array) -> IntervalSet:
    keep = ends > starts
    starts, ends = starts[keep], ends[keep]
    if not len(starts):
        return EMPTY
    if np.any(starts[1:] < starts[:-1]):
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    first = np.concatenate((np.ones(1, np.bool_), starts[1:] > reach[:-1]))
    last = np.concatenate((first[1:], np.ones(1, np.bool_)))
    return IntervalSet(starts[first], reach[last])


def positions(
    line: Int64Array | RowArray, wanted: Int64Array | RowArray, side: Literal["left", "right"] = "left"
) -> Int64Array:
    """`numpy.searchsorted` for questions that mostly come in the order of their answers."""
    native = sweeps()
    if native is None:
        return np.searchsorted(line, wanted, side=side).astype(np.int64, copy=False)
    line, wanted = words(line), words(wanted)
    found = np.empty(len(wanted), np.int64)
    native("positions", line, len(line), wanted, len(wanted), int(side == "right"), found)
    return found


def is_one_of(kinds: npt.NDArray[np.int8], wanted: Iterable[int]) -> BoolArray:
    """`numpy.isin` for a column of few kinds: a comparison for each is faster than a table."""
    found = np.zeros(len(kinds), np.bool_)
    for kind in wanted:
        found |= kinds == kind
    return found


def complement(intervals: IntervalSet, start: int, end: int) -> IntervalSet:
    """What the set leaves free of [start, end)."""
    lows = np.concatenate((np.array([start], np.int64), np.clip(intervals.ends, start, end)))
    highs = np.concatenate((np.clip(intervals.starts, start, end), np.array([end], np.int64)))
    keep = highs > lows
    return IntervalSet(lows[keep], highs[keep])


def intersect(left: IntervalSet, right: IntervalSet) -> IntervalSet:
    """What both sets cover."""
    if not len(left.starts) or not len(right.starts):
        return EMPTY
    first = positions(right.ends, left.starts, side="right")
    after = positions(right.starts, left.ends)
    rows, other = expand(first, after)
    starts = np.maximum(left.starts[rows], right.starts[other])
    ends = np.minimum(left.ends[rows], right.ends[other])
    return IntervalSet(starts, ends)


def subtract(left: IntervalSet, right: IntervalSet) -> IntervalSet:
    """What the left set covers and the right one does not."""
    if not len(left.starts):
        return EMPTY
    return intersect(left, complement(right, int(left.starts[0]), int(left.ends[-1])))


def clip(starts: Int64Array, ends: Int64Array, low: int, high: int) -> tuple[Int64Array, Int64Array]:
    """Intervals cut to [low, high); those outside become empty."""
    return np.clip(starts, low, high), np.clip(ends, low, high)


def expand(first: npt.NDArray[np.intp], after: npt.NDArray[np.intp]) -> tuple[Int64Array, Int64Array]:
    """Pairs (row, j) for every j in [first[row], after[row]); the sizes add, nothing is quadratic by itself."""
    counts = np.maximum(after - first, 0)
    rows = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    offset = np.arange(len(rows), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, first[rows] + offset
