"""Rows for overlapping intervals: nested calls and ranges stack, concurrent kernels of one stream lie side by side."""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]


def pack(starts: Int64Array, ends: Int64Array) -> Int32Array:
    """Row of each interval (sorted by start, longest first) such that no two intervals of a row overlap.

    Properly nested intervals get their depth. Where intervals cross, the first free row is taken instead.
    """
    if len(starts) < 2 or not np.any(starts[1:] < np.maximum.accumulate(ends)[:-1]):
        return np.zeros(len(starts), np.int32)
    depth = np.arange(len(starts)) - np.searchsorted(np.sort(ends), starts, side="right")
    depth = np.maximum(depth, 0).astype(np.int32)
    return depth if _disjoint(starts, ends, depth) else _first_free(starts, ends)


def _disjoint(starts: Int64Array, ends: Int64Array, rows: Int32Array) -> bool:
    order = np.lexsort((starts, rows))
    same = rows[order][1:] == rows[order][:-1]
    return not np.any(same & (starts[order][1:] < ends[order][:-1]))


def _first_free(starts: Int64Array, ends: Int64Array) -> Int32Array:
    """Interval partitioning with two heaps: rows in use by their end, free rows by their number."""
    rows = np.zeros(len(starts), np.int32)
    used: list[tuple[int, int]] = []
    free: list[int] = []
    opened = 0
    for i, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        while used and used[0][0] <= start:
            heapq.heappush(free, heapq.heappop(used)[1])
        if free:
            row = heapq.heappop(free)
        else:
            row, opened = opened, opened + 1
        rows[i] = row
        heapq.heappush(used, (end, row))
    return rows
