"""Rows chosen from the columns of one table of an export: what the readers of all tables work on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.ingest.export_codes import NO_CODE, Array, Codes, Column, Index, Mask, coded, taken
from stallscope.ingest.nsys_source import BOUNDS, Kind
from stallscope.model.packing import narrowest, packed


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a table in some order: `index` are their places in the columns (None: all, in file order)."""

    columns: Mapping[str, Column]
    length: int
    index: Index | None = None

    def __len__(self) -> int:
        return self.length

    def values(self, name: str) -> Array:
        """Values of the rows (numbers), 0 where there is none."""
        return self.later(name)()

    def later(self, name: str) -> Callable[[], Array]:
        """A function that yields the values when somebody needs them; it keeps this one column alive."""
        column = self.columns[name]
        return partial(taken, column.values, self.index) if column.distinct is None else self.codes(name).values

    def packed(self, name: str) -> Callable[[], Array]:
        """`later` for whole numbers that few ask for, kept in as little memory as they need."""
        column = self.columns[name]
        if column.distinct is not None:
            return Codes(
                column.values.astype(narrowest(NO_CODE, len(column.distinct))), column.distinct, self.index
            ).values
        whole, index = packed(column.values), self.index  # without the other columns
        return lambda: taken(whole(), index)

    def missing(self, *names: str) -> Mask | None:
        """Rows that lack one of the values; None when none does."""
        masks = [column.missing for name in names if (column := self.columns[name]).missing is not None]
        if not masks:
            return None
        return taken(np.logical_or.reduce(masks), self.index)

    def filled(self, name: str, value: int) -> Array:
        """Values, and `value` where there is none."""
        return taken(self.columns[name].filled(value), self.index)

    def only(self, kept: Mask) -> Rows:
        """The rows that the mask keeps."""
        return self.taken(np.flatnonzero(kept))

    def sorted_by(self, name: str) -> Rows:
        """The rows in the order of a column, equal ones as they were."""
        keys = self.values(name)
        if bool((keys[1:] >= keys[:-1]).all()):
            return self
        return self.taken(np.argsort(keys, kind="stable"))

    def grouped_by(self, name: str, rank: Sequence[int]) -> Rows:
        """The rows by the rank of their code in a column, equal ones as they were; no row may lack a value."""
        places = self.codes(name).grouped(rank)
        return self if places is None else self.taken(places)

    def taken(self, places: Index | npt.NDArray[np.intp]) -> Rows:
        """The rows at these places, in that order."""
        places = places.astype(np.int32, copy=False)
        return replace(self, length=len(places), index=places if self.index is None else taken(self.index, places))

    def with_column(self, name: str, column: Column) -> Rows:
        """The same rows with one column more, or another one under this name; it covers the whole file."""
        return replace(self, columns={**self.columns, name: column})

    def codes(self, name: str) -> Codes:
        """Codes of the rows and what they stand for."""
        column = self.columns[name]
        if column.distinct is None:
            column = coded(column)
        return Codes(column.values, column.distinct or (), self.index)

    def records(self, *names: str) -> list[tuple[Any, ...]]:
        """A tuple a row, with None where a value is missing; for few rows."""
        return list(zip(*(self._objects(name) for name in names or self.columns), strict=True))

    def _objects(self, name: str) -> list[Any]:
        column = self.columns[name]
        if column.distinct is not None:
            found = [*column.distinct, None]  # NO_CODE is the last one
            return [found[code] for code in taken(column.values, self.index).tolist()]
        values: list[Any] = self.values(name).tolist()
        missing = self.missing(name)
        if missing is None:
            return values
        return [None if lacks else value for value, lacks in zip(values, missing.tolist(), strict=True)]


def absent(kind: Kind, rows: int) -> Column:
    """A column that the export does not have."""
    if kind in {"key", "name", "text"}:
        return Column(np.full(rows, NO_CODE, np.int32), distinct=())
    dtype = np.int32 if kind in BOUNDS else np.float64 if kind == "float" else np.int64
    return Column(np.zeros(rows, dtype), np.ones(rows, np.bool_) if kind in {"int", "float"} else None)
