"""Rows of one table that another one points to, and what they hold."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

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


def _picked(values: npt.NDArray[T], rows: RowArray) -> npt.NDArray[T]:
    if len(rows) and int(rows.min()) < 0:
        raise IndexError(f"rows beyond the {len(values)} of a table")
    return values[rows]
