"""Columns of one table of an export, and codes in place of values that repeat."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import CDLL
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.ingest.sqlite_library import library
from stallscope.model.packing import Narrow, narrowest

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int32]
"""Places of rows in columns, which have far fewer than 2^31."""

NO_CODE = -1
"""Code of a row without a value."""

_ROWS_AT_FIRST, _ROWS_A_LOOK = 1 << 8, 1 << 16
_MOST_PAIRS = 1 << 16


@dataclass(frozen=True, slots=True)
class Column:
    """One column in file order.

    `missing` marks the rows without a value (None: every row has one, or it does not matter). A column with `distinct`
    holds codes: positions among the distinct values, NO_CODE where there is none.
    """

    values: Array
    missing: Mask | None = None
    distinct: Sequence[Any] | None = None

    def filled(self, value: int) -> Array:
        """The values, and this one where there is none."""
        return self.values if self.missing is None else np.where(self.missing, value, self.values)


@dataclass(frozen=True, slots=True)
class Codes:
    """Values of rows by their place among the distinct ones; `index` chooses and orders the rows (None: all)."""

    column: Array
    distinct: Sequence[Any]
    index: Index | None = None

    def __len__(self) -> int:
        return len(self.column) if self.index is None else len(self.index)

    @property
    def codes(self) -> Array:
        """Code of each row."""
        return taken(self.column, self.index)

    def lacking(self) -> Mask | None:
        """Rows without a value; None when every row has one."""
        if not len(self.column) or self.column.min() >= 0:
            return None
        found: Mask = self.codes < 0
        return found

    def used(self) -> npt.NDArray[np.bool_]:
        """Which of the distinct values occur."""
        found = np.zeros(len(self.distinct), np.bool_)
        found[self.in_order()] = True
        return found

    def in_order(self) -> list[int]:
        """Codes that occur, in the order of their first appearance."""
        compiled, most = library(), len(self.distinct)
        if compiled is None or self.column.dtype != np.int32:
            return self._in_order()
        seen, order = np.zeros(most, np.bool_), np.empty(most, np.int32)
        met = compiled.stallscope_met(
            self.column.ctypes.data, _address(self.index), len(self), most, seen.ctypes.data, order.ctypes.data
        )
        found: list[int] = order[:met].tolist()
        return found

    def _in_order(self) -> list[int]:
        unseen, order = np.ones(len(self.distinct) + 1, np.bool_), list[int]()
        unseen[NO_CODE] = False
        begin, step = 0, _ROWS_AT_FIRST
        while begin < len(self):  # most are met early: a short look finds them with few repetitions
            part = self._part(begin, begin + step)
            begin, step = begin + step, min(4 * step, max(_ROWS_A_LOOK, len(self.distinct)))
            new = part[unseen[part]]
            if len(new):
                fresh = dict.fromkeys(new.tolist())
                order += fresh
                unseen[list(fresh)] = False
                if not unseen.any():
                    break
        return order

    def _part(self, begin: int, end: int) -> Array:
        return self.column[begin:end] if self.index is None else self.column.take(self.index[begin:end])

    def mapped(self, new: Sequence[int] | Array, default: int, dtype: npt.DTypeLike = np.int32) -> Array:
        """For each row the new value of its distinct one; the default where there is none."""
        table = np.full(len(self.distinct) + 1, default, dtype)
        table[: len(self.distinct)] = new
        return _translated(self.column, self.index, table)

    def packed(self, new: Sequence[int] | Array, default: int) -> Narrow:
        """The same in as few bytes as the new values need."""
        low, high = min(min(new, default=0), default), max(max(new, default=0), default)
        return Narrow(self.mapped(new, default, narrowest(int(low), int(high))))

    def grouped(self, rank: Sequence[int]) -> Index | npt.NDArray[np.intp] | None:
        """Places of the rows by the rank of their value, equal ones as they were; None where they are so already.

        No row may lack a value, and only values that no row has may have a negative rank.
        """
        table, compiled = np.asarray(rank, np.int32), library()
        if compiled is None or self.column.dtype != np.int32:
            ranks = table[self.codes]
            return None if bool((ranks[1:] >= ranks[:-1]).all()) else np.argsort(ranks, kind="stable")
        places, following = np.empty(len(self), np.int32), np.zeros(max(rank, default=0) + 2, np.int64)
        moved = compiled.stallscope_grouped(
            self.column.ctypes.data,
            _address(self.index),
            len(self),
            table.ctypes.data,
            len(following) - 1,
            following.ctypes.data,
            places.ctypes.data,
        )
        return places if moved else None

    def filled(self, value: int) -> Codes:
        """The same with a value for the rows that have none."""
        if self.lacking() is None:
            return self
        codes = self.codes
        return Codes(np.where(codes < 0, np.int32(len(self.distinct)), codes), [*self.distinct, value])

    def values(self, default: int = 0) -> npt.NDArray[np.int64]:
        """The values themselves (numbers only)."""
        return self.mapped(np.asarray(self.distinct, np.int64), default, np.int64)


def paired(left: Codes, right: Codes) -> Codes:
    """Codes of the pairs of two columns; no row may lack either."""
    wide = len(right.distinct)
    if len(left.distinct) * wide <= _MOST_PAIRS:
        return Codes(_numbered(left, right, wide), list(product(left.distinct, right.distinct)))
    pairs = coded(Column(left.codes.astype(np.int64) * wide + right.codes))
    places = [divmod(pair, wide) for pair in pairs.distinct or ()]
    return Codes(pairs.values, [(left.distinct[a], right.distinct[b]) for a, b in places])


def _numbered(left: Codes, right: Codes, wide: int) -> Array:
    """One number for each row's pair of codes."""
    compiled = library()
    if compiled is None or left.column.dtype != np.int32 or right.column.dtype != np.int32:
        pairs: Array = left.codes * np.int32(wide) + right.codes
        return pairs
    found = np.empty(len(left), np.int32)
    sides = ((side.column.ctypes.data, _address(side.index)) for side in (left, right))
    compiled.stallscope_paired(*chain(*sides), len(found), wide, found.ctypes.data)
    return found


def coded(column: Column) -> Column:
    """The column with codes instead of its values."""
    import polars as pl

    present = column.values if column.missing is None else column.values[~column.missing]
    distinct = np.sort(pl.Series(present).unique().to_numpy())  # by hashing: few of many rows differ
    codes = np.searchsorted(distinct, column.values).astype(np.int32)
    if column.missing is not None:
        codes[column.missing] = NO_CODE
    return Column(codes, distinct=distinct.tolist())


def _translated(codes: Array, index: Index | None, table: Array) -> Array:
    """What a table says about the code of each row; its last entry is for rows without one."""
    compiled = library()
    if compiled is None or table.itemsize not in {1, 2, 4, 8} or codes.itemsize not in {1, 2, 4}:
        return table[taken(codes, index)]
    found = np.empty(len(codes) if index is None else len(index), table.dtype)
    _translate(compiled, codes, index, table, found)
    return found


def renumber(codes: Array, new: Sequence[int]) -> None:
    """Put the new code of each in its place."""
    table, compiled = np.asarray([*new, NO_CODE], np.int32), library()
    if compiled is None or not codes.flags.c_contiguous:
        codes[:] = table[codes]
    else:
        _translate(compiled, codes, None, table, codes)


def _translate(compiled: CDLL, codes: Array, index: Index | None, table: Array, into: Array) -> None:
    before = np.concatenate((table[-1:], table))  # in C, code -1 is what lies before the table
    compiled.stallscope_translate(
        codes.ctypes.data,
        codes.itemsize,
        _address(index),
        len(into),
        before[1:].ctypes.data,
        table.itemsize,
        into.ctypes.data,
    )


def _address(index: Index | None) -> int | None:
    return None if index is None else index.ctypes.data


def taken(values: Array, index: Index | None) -> Array:
    """Values at the places; numpy would widen these to 64 bits first."""
    compiled = library()
    if index is None:
        return values
    if compiled is None or values.dtype.hasobject or not values.flags.c_contiguous:
        return values.take(index)
    found = np.empty(len(index), values.dtype)
    compiled.stallscope_taken(values.ctypes.data, values.itemsize, index.ctypes.data, len(index), found.ctypes.data)
    return found
