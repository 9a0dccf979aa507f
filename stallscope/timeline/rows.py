"""Rows of one table that another one points to, and what they hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Packed, Rows, Table, chosen
from stallscope.timeline.native import OUTSIDE, sweeps

RowArray = npt.NDArray[np.int32]
"""Rows of a table, -1 for none. Links between tables are as many as their rows, which are far below 2^31."""

T = TypeVar("T", bound=np.generic)

_BYTES = {1, 4, 8}


def picked(values: npt.NDArray[T], rows: RowArray) -> npt.NDArray[T]:
    """`values[rows]` for rows that exist.

    numpy widens row numbers to 64 bits first, which takes longer than looking the values up and twice their memory.
    Raises IndexError for a row that the values do not have; -1 is one of these.
    """
    native = sweeps()
    if native is None or values.itemsize not in _BYTES or rows.dtype != np.int32:
        return _picked(values, rows)
    values, rows = np.ascontiguousarray(values), np.ascontiguousarray(rows)
    found = np.empty(len(rows), values.dtype)
    if native("picked", values, values.itemsize, len(values), rows, len(rows), found) == OUTSIDE:
        raise IndexError(f"rows beyond the {len(values)} of a table")
    return found


@dataclass(frozen=True, slots=True)
class Picked(Packed, Generic[T]):
    """What another column holds in the rows that a table points to, one for each of its own."""

    values: npt.NDArray[T]
    rows: RowArray

    def __call__(self) -> npt.NDArray[T]:
        """All of it."""
        return picked(self.values, self.rows)

    def at(self, rows: Rows) -> npt.NDArray[T]:
        """The same for some rows of the table."""
        return picked(self.values, chosen(self.rows, rows))


@dataclass(frozen=True, slots=True)
class Found(Packed, Generic[T]):
    """A column that nobody keeps: a function finds what some rows hold, or all of them, given as a slice."""

    find: Callable[[Rows], npt.NDArray[T]]

    def __call__(self) -> npt.NDArray[T]:
        """All of it."""
        return self.find(slice(None))

    def at(self, rows: Rows) -> npt.NDArray[T]:
        """What some rows hold."""
        return self.find(rows)


@dataclass(frozen=True, slots=True)
class Reordered(Packed, Generic[T]):
    """A column as it was before its rows were put in order: `values` is the column in that order."""

    values: npt.NDArray[T]
    order: RowArray

    def __call__(self) -> npt.NDArray[T]:
        """All of it."""
        found = np.empty_like(self.values)
        found[self.order] = self.values
        return found

    def at(self, rows: Rows) -> npt.NDArray[T]:
        """What some of the former rows held."""
        return chosen(self(), rows)


def take_over(table: Table, ordered: Table, order: RowArray) -> None:
    """`ordered` holds the rows of the table in that order: it alone keeps the columns from now on."""
    for name in table.COLUMNS:
        table.replace_by(name, Reordered(ordered.array(name), order))


def _picked(values: npt.NDArray[T], rows: RowArray) -> npt.NDArray[T]:
    if len(rows) and int(rows.min()) < 0:
        raise IndexError(f"rows beyond the {len(values)} of a table")
    found: npt.NDArray[T] = values[rows]
    return found
