"""Long columns of whole numbers in few bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Packed, Rows, chosen

Array = npt.NDArray[Any]

_PLACE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Narrow(Packed):
    """Whole numbers in as few bytes as they need; a table that is asked for them widens them to its own dtype."""

    values: Array

    def __call__(self) -> Array:
        """All of them."""
        return self.values

    def at(self, rows: Rows) -> Array:
        """Those in some rows."""
        return chosen(self.values, rows)


@dataclass(frozen=True, slots=True)
class Sparse(Packed):
    """Whole numbers of which most are 0: the others, and where they are (ascending)."""

    values: Array
    places: Array
    length: int

    def __call__(self) -> Array:
        """All of them."""
        found = np.zeros(self.length, self.values.dtype)
        found[self.places] = self.values
        return found

    def at(self, rows: Rows) -> Array:
        """Those in some rows."""
        if isinstance(rows, slice):
            return self()[rows]
        if not len(self.places):
            return np.zeros(len(rows), self.values.dtype)
        rows = rows.astype(np.int32, copy=False)  # of one type with the places, or these would be widened each time
        nearest = np.minimum(np.searchsorted(self.places, rows), len(self.places) - 1)
        return np.where(self.places[nearest] == rows, self.values[nearest], 0).astype(self.values.dtype)


def packed(values: Array) -> Narrow | Sparse:
    """Whole numbers in few bytes."""
    others = int(np.count_nonzero(values))
    if not others:
        return Sparse(np.empty(0, np.int8), np.empty(0, np.int32), len(values))
    dtype = _fitting(values)
    if others * (dtype.itemsize + _PLACE_BYTES) >= len(values) * dtype.itemsize:
        return Narrow(values.astype(dtype, copy=False))
    places = np.flatnonzero(values).astype(np.int32)
    return Sparse(values[places].astype(dtype, copy=False), places, len(values))


def narrowest(low: int, high: int) -> np.dtype[Any]:
    """The type with the fewest bytes that holds both numbers."""
    every = (np.iinfo(dtype) for dtype in (np.int8, np.int16, np.int32))
    fitting = (info.dtype for info in every if info.min <= low and high <= info.max)
    return next(fitting, np.dtype(np.int64))


def _fitting(values: Array) -> np.dtype[Any]:
    return min(narrowest(int(values.min()), int(values.max())), values.dtype, key=lambda dtype: dtype.itemsize)
