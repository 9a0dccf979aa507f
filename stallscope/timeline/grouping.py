"""Rows that belong together: their order, their numbers, their sums."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.native import TOO_MANY, TOO_WIDE, halves, sweeps, words
from stallscope.timeline.rows import RowArray

_SPARSE = 1024
"""Counting rows by group pays while the highest group number is at most this, or twice the rows."""


def grouped_order(
    group: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array, *, longest_first: bool = False
) -> RowArray:
    """Order of the rows by (group, start, end); `longest_first` puts the later end first where starts are equal."""
    native, count = sweeps(), len(group)
    if native is not None and count and int(group.min()) >= 0 and int(group.max()) < max(2 * count, _SPARSE):
        order = np.empty(count, np.int32)
        sign = -1 if longest_first else 1
        native("order", halves(group), words(starts), words(ends), count, int(group.max()) + 1, sign, order)
        return order
    return np.lexsort((-ends if longest_first else ends, starts, group)).astype(np.int32)


def regrouping(
    group: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array, *, longest_first: bool = False
) -> RowArray | None:
    """`grouped_order`, or None where it leaves the rows as they are."""
    native, sign = sweeps(), -1 if longest_first else 1
    if native is not None and native("in_order", halves(group), words(starts), words(ends), len(group), sign):
        return None
    order = grouped_order(group, starts, ends, longest_first=longest_first)
    return None if native is None and bool((order == np.arange(len(order))).all()) else order


class Groups(NamedTuple):
    """Equal rows: `of[row]` is the number of the row's group, `first[group]` the row where it is first seen.

    Groups are numbered in the order in which they are first seen.
    """

    of: RowArray
    first: RowArray

    def sizes(self) -> Int64Array:
        """Rows of every group."""
        return np.bincount(self.of, minlength=len(self.first)).astype(np.int64, copy=False)

    def sums(self, values: Int64Array) -> Int64Array:
        """Exact sum of the values of every group (below 2^53, which is a hundred days)."""
        return np.bincount(self.of, weights=values, minlength=len(self.first)).astype(np.int64)


def groups(*columns: npt.NDArray[Any]) -> Groups:
    """Rows that are equal in all the integer columns (which are of the same length)."""
    found = groups_up_to(len(columns[0]), *columns)
    assert found is not None  # there are never more groups than rows  # noqa: S101
    return found


def groups_up_to(most: int, *columns: npt.NDArray[Any]) -> Groups | None:
    """The same, or None when there are more than `most` groups."""
    native, count = sweeps(), len(columns[0])
    if native is None:
        found = _groups(columns)
        return found if len(found.first) <= most else None
    keys = [np.ascontiguousarray(column.view(np.int8) if column.dtype == np.bool_ else column) for column in columns]
    pointers = np.array([key.ctypes.data for key in keys], np.uint64)
    of, first = np.empty(count, np.int32), np.empty(count, np.int32)
    size = native("groups", pointers, halves([key.itemsize for key in keys]), len(keys), count, most, of, first)
    if size == TOO_WIDE:
        return groups_up_to(most, _narrowed(keys))
    return None if size == TOO_MANY else Groups(of, first[:size].copy())  # not all the room for them


def _narrowed(columns: list[npt.NDArray[Any]]) -> RowArray:
    """One column for several that together have more than 64 bits: group numbers have half as many at most."""
    return reduce(lambda left, right: groups(left, right).of, (groups(column).of for column in columns))


def _groups(columns: tuple[npt.NDArray[Any], ...]) -> Groups:
    if not len(columns[0]):
        return Groups(np.empty(0, np.int32), np.empty(0, np.int32))
    lowest = [int(column.min()) for column in columns]
    bits = [(int(column.max()) - low).bit_length() for column, low in zip(columns, lowest, strict=True)]
    if len(columns) > 1 and sum(bits) >= _WORD_BITS:
        return _groups((_narrowed(list(columns)),))
    key = columns[0].astype(np.int64)
    if len(columns) > 1:
        key -= lowest[0]
    for column, low, width in zip(columns[1:], lowest[1:], bits[1:], strict=True):
        key = (key << width) | (column.astype(np.int64) - low)
    _, first, number = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return Groups(rank[number], np.sort(first).astype(np.int32))


_WORD_BITS = 63
