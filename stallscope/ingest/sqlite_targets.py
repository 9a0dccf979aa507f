"""Where the page decoder puts the values of one column, and the column that comes of it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from stallscope.ingest.export_codes import Array, Column, renumber
from stallscope.ingest.limits import TEXT_BYTES
from stallscope.ingest.nsys_source import BOUNDS, Kind
from stallscope.ingest.sqlite_library import Dictionary, Target

_NUMBER, _SMALL, _REAL, _KEY, _TEXT = range(5)
_NATIVE: dict[Kind, tuple[int, type[np.generic]]] = {
    "int": (_NUMBER, np.int64),
    "zero": (_NUMBER, np.int64),
    "size": (_SMALL, np.int32),
    "int32": (_SMALL, np.int32),
    "float": (_REAL, np.float64),
    "key": (_KEY, np.int32),
    "name": (_TEXT, np.int32),
    "text": (_TEXT, np.int32),
}
_NULLABLE = ("int", "float")


@dataclass(frozen=True, slots=True)
class ColumnTarget:
    """Room for one column of the whole table; several threads fill parts of it."""

    kind: Kind
    position: int
    values: Array
    missing: Array | None

    @classmethod
    def of(cls, kind: Kind, position: int, rows: int) -> ColumnTarget:
        """Room for `rows` values of the column at `position` of the record."""
        missing = np.zeros(rows, np.bool_) if kind in _NULLABLE else None  # pages nobody writes to take no memory
        return cls(kind, position, np.empty(rows, _NATIVE[kind][1]), missing)

    def native(self) -> Target:
        """What one thread of the decoder is told."""
        low, high = BOUNDS.get(self.kind, (0, TEXT_BYTES))
        missing = None if self.missing is None else self.missing.ctypes.data
        return Target(self.position, _NATIVE[self.kind][0], low, high, self.values.ctypes.data, missing)

    def column(self, parts: Sequence[Target], starts: Sequence[int]) -> Column:
        """The decoded column, given what each thread found in its rows, `starts[i]` to `starts[i + 1]`."""
        if _NATIVE[self.kind][0] in {_KEY, _TEXT}:
            return self._coded(parts, starts)
        return Column(self.values, self.missing if any(part.nulls for part in parts) else None)

    def _coded(self, parts: Sequence[Target], starts: Sequence[int]) -> Column:
        known: dict[Any, int] = {}
        read = _numbers if self.kind == "key" else _texts
        for part, (begin, end) in zip(parts, pairwise(starts), strict=True):
            final = [known.setdefault(value, len(known)) for value in read(part.distinct)]
            if final != list(range(len(final))):
                renumber(self.values[begin:end], final)
        return Column(self.values, distinct=tuple(known))


def _numbers(found: Dictionary) -> list[int]:
    return list(found.values[: found.count]) if found.count else []


def _texts(found: Dictionary) -> list[str]:
    """Distinct texts; bytes that are not UTF-8 become U+FFFD, which can make texts equal."""
    if not found.count:
        return []
    every = ctypes.string_at(found.bytes, found.used) if found.used else b""
    return [every[begin:end].decode("utf-8", "replace") for begin, end in pairwise([0, *found.values[: found.count]])]
