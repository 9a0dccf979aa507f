"""Columns of one table of an export, and rows chosen from them: what the readers of all tables work on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from stallscope.ingest.nsys_source import BOUNDS, Kind

Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]

NO_CODE = -1
"""Code of a row without a value."""

_ROWS_A_LOOK = 1 << 16


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
class Rows:
    """Some rows of a table in some order: `index` are their places in the columns (None: all, in file order)."""

    columns: Mapping[str, Column]
    length: int
    index: Index | None = None

    def __len__(self) -> int:
        return self.length

    def values(self, name: str) -> Array:
        """Values, or codes, of the rows."""
        return _taken(self.columns[name].values, self.index)

    def later(self, name: str) -> Callable[[], Array]:
        """A function that yields the values when somebody needs them; it keeps this one column alive."""
        return partial(_taken, self.columns[name].values, self.index)

    def missing(self, *names: str) -> Mask | None:
        """Rows that lack one of the values; None when none does."""
        masks = [column.missing for name in names if (column := self.columns[name]).missing is not None]
        if not masks:
            return None
        return _taken(np.logical_or.reduce(masks), self.index)

    def filled(self, name: str, value: int) -> Array:
        """Values, and `value` where there is none."""
        return _taken(self.columns[name].filled(value), self.index)

    def only(self, kept: Mask) -> Rows:
        """The rows that the mask keeps."""
        places = np.flatnonzero(kept)
        return replace(self, length=len(places), index=places if self.index is None else self.index[places])

    def sorted_by(self, name: str) -> Rows:
        """The rows in the order of a column, equal ones as they were."""
        keys = self.values(name)
        if bool((keys[1:] >= keys[:-1]).all()):
            return self
        order = np.argsort(keys, kind="stable")
        return replace(self, index=order if self.index is None else self.index[order])

    def with_column(self, name: str, column: Column) -> Rows:
        """The same rows with one column more, or another one under this name; it covers the whole file."""
        return replace(self, columns={**self.columns, name: column})

    def codes(self, name: str) -> Codes:
        """Codes of the rows and what they stand for."""
        column = self.columns[name]
        if column.distinct is None:
            column = coded(column)
        return Codes(_taken(column.values, self.index), column.distinct or ())

    def frame(self, *names: str) -> pl.DataFrame:
        """The columns as a polars frame, without a value where it is missing."""
        return pl.DataFrame([self._series(name) for name in names or self.columns])

    def _series(self, name: str) -> pl.Series:
        column = self.columns[name]
        if column.distinct is not None:
            kind = pl.String() if isinstance(next(iter(column.distinct), 0), str) else pl.Int64()
            codes = pl.Series(name, self.values(name))
            distinct = pl.Series(name, column.distinct, dtype=kind)
            return distinct.gather(codes.replace(NO_CODE, None))
        whole, missing = pl.Series(name, self.values(name)), self.missing(name)
        if missing is None or not missing.any():
            return whole
        return pl.select(pl.when(pl.Series(~missing)).then(whole)).to_series().alias(name)


@dataclass(frozen=True, slots=True)
class Codes:
    """Values of rows by their place among the distinct ones."""

    codes: Array
    distinct: Sequence[Any]

    def used(self) -> npt.NDArray[np.bool_]:
        """Which of the distinct values occur."""
        found = np.zeros(len(self.distinct), np.bool_)
        found[self.in_order()] = True
        return found

    def in_order(self) -> list[int]:
        """Codes that occur, in the order of their first appearance."""
        unseen, order = np.ones(len(self.distinct) + 1, np.bool_), list[int]()
        unseen[NO_CODE] = False
        step = max(_ROWS_A_LOOK, len(self.distinct))
        for begin in range(0, len(self.codes), step):
            part = self.codes[begin : begin + step]
            new = part[unseen[part]]
            if len(new):
                fresh = dict.fromkeys(new.tolist())
                order += fresh
                unseen[list(fresh)] = False
                if not unseen.any():
                    break
        return order

    def mapped(self, new: Sequence[int] | Array, default: int, dtype: npt.DTypeLike = np.int32) -> Array:
        """For each row the new value of its distinct one; the default where there is none."""
        table = np.full(len(self.distinct) + 1, default, dtype)
        table[: len(self.distinct)] = new
        return table[self.codes]

    def filled(self, value: int) -> Codes:
        """The same with a value for the rows that have none."""
        if not (self.codes < 0).any():
            return self
        codes = np.where(self.codes < 0, np.int32(len(self.distinct)), self.codes)
        return Codes(codes, [*self.distinct, value])

    def values(self, default: int = 0) -> npt.NDArray[np.int64]:
        """The values themselves (numbers only)."""
        return self.mapped(np.asarray(self.distinct, np.int64), default, np.int64)


def rows_of(frame: pl.DataFrame, kinds: Mapping[str, Kind]) -> Rows:
    """The columns of a polars frame in the form that their kinds ask for."""
    columns = {name: _column(frame.get_column(name), kind) for name, kind in kinds.items()}
    return Rows(columns, frame.height)


def absent(kind: Kind, rows: int) -> Column:
    """A column that the export does not have."""
    if kind in {"key", "name"}:
        return Column(np.full(rows, NO_CODE, np.int32), distinct=())
    dtype = np.int32 if kind in BOUNDS else np.float64 if kind == "float" else np.int64
    return Column(np.zeros(rows, dtype), np.ones(rows, np.bool_) if kind in {"int", "float"} else None)


def coded(column: Column) -> Column:
    """The column with codes instead of its values."""
    present = column.values if column.missing is None else column.values[~column.missing]
    distinct = np.sort(pl.Series(present).unique().to_numpy())
    codes = np.searchsorted(distinct, column.values).astype(np.int32)
    if column.missing is not None:
        codes[column.missing] = NO_CODE
    return Column(codes, distinct=distinct.tolist())


def _column(series: pl.Series, kind: Kind) -> Column:
    if kind in {"text", "name"}:
        texts = series.fill_null("")
        distinct = texts.unique(maintain_order=True)
        places = pl.Series(range(len(distinct)), dtype=pl.Int32)
        codes = texts.replace_strict(distinct, places, return_dtype=pl.Int32) if len(distinct) else places
        return Column(codes.to_numpy(), distinct=distinct.to_list())
    missing = series.is_null().to_numpy() if series.null_count() else None
    if kind in BOUNDS:
        return Column(series.fill_null(0).clip(*BOUNDS[kind]).cast(pl.Int32).to_numpy())
    column = Column(series.fill_null(0).to_numpy(), None if kind == "zero" else missing)
    return coded(column) if kind == "key" else column


def _taken(values: Array, index: Index | None) -> Array:
    return values if index is None else values.take(index)
