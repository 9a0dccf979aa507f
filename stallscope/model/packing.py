"""Long columns of whole numbers in few bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Rows, chosen

Array = npt.NDArray[Any]

_PLACE_BYTES = 4


@dataclass(frozen=True, slots=True)
class Narrow:
    """Whole numbers in as few bytes as they need; a table that is asked for them widens them to its own dtype."""

    values: Array

    def __call__(self) -> Array:
        """All of them."""
        return self.values

    def at(self, rows: Rows) -> Array:
        """Those in some rows."""
        return chosen(self.values, rows)


@dataclass(frozen=True, slots=True)
class Sparse:
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
    small = narrow(values)
    if np.count_nonzero(small) * (small.itemsize + _PLACE_BYTES) >= small.nbytes:
        return Narrow(small)
    places = np.flatnonzero(small).astype(np.int32)
    return Sparse(small[places], places, len(small))


def narrow(values: Array) -> Array:
    """The values in as few bytes as they need."""
    low, high = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    smaller = (np.iinfo(dtype) for dtype in (np.int8, np.int16, np.int32))
    fitting = (info.dtype for info in smaller if info.min <= low and high <= info.max)
    return values.astype(next(fitting, values.dtype), copy=False)
