"""Typed columnar tables: a class names its columns once, every consumer reads them by attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt
import polars as pl
from typing_extensions import Self

T = TypeVar("T", bound=np.generic)

NO_ROW = -1
"""Value of a link column (an index into another table) that points nowhere."""

_POLARS: dict[np.dtype[Any], pl.DataType] = {
    np.dtype(np.int8): pl.Int8(),
    np.dtype(np.int32): pl.Int32(),
    np.dtype(np.int64): pl.Int64(),
    np.dtype(np.float64): pl.Float64(),
    np.dtype(np.bool_): pl.Boolean(),
}


class Column(Generic[T]):
    """One typed, documented column; read on an instance it is a numpy array of `len(table)`."""

    def __init__(self, dtype: type[T], doc: str) -> None:
        self.dtype: np.dtype[T] = np.dtype(dtype)
        self.doc = doc
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, table: None, owner: type) -> Column[T]: ...
    @overload
    def __get__(self, table: Table, owner: type) -> npt.NDArray[T]: ...
    def __get__(self, table: Table | None, owner: type) -> Column[T] | npt.NDArray[T]:
        if table is None:
            return self
        return cast("npt.NDArray[T]", table.array(self.name))


class Table:
    """Rows of one kind over a polars frame; names and dtypes are checked once, here.

    Raises `TypeError` when the frame's columns or dtypes differ from the declared ones or a value is null.
    An absent table and an empty one are different answers: absent means *not collected*.
    """

    COLUMNS: ClassVar[Mapping[str, Column[Any]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Column)}
        cls.COLUMNS = {**cls.COLUMNS, **own}

    def __init__(self, frame: pl.DataFrame) -> None:
        expected = {name: _POLARS[column.dtype] for name, column in self.COLUMNS.items()}
        if dict(frame.schema) != expected:
            raise TypeError(f"{type(self).__name__}: columns {dict(frame.schema)} instead of {expected}")
        if any(frame.null_count().row(0)) if frame.width else False:
            raise TypeError(f"{type(self).__name__}: null values in {frame.null_count().to_dicts()[0]}")
        self.frame = frame
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    @classmethod
    def of(cls, **columns: npt.ArrayLike) -> Self:
        """Build from one array a column, cast to the declared dtypes."""
        unknown = columns.keys() ^ cls.COLUMNS.keys()
        if unknown:
            raise TypeError(f"{cls.__name__}: columns differ from the declared ones: {sorted(unknown)}")
        arrays = {name: np.asarray(columns[name], dtype=column.dtype) for name, column in cls.COLUMNS.items()}
        return cls(pl.DataFrame(arrays, schema={name: _POLARS[column.dtype] for name, column in cls.COLUMNS.items()}))

    @classmethod
    def empty(cls) -> Self:
        """A collected table in which nothing happened."""
        return cls.of(**{name: np.empty(0, column.dtype) for name, column in cls.COLUMNS.items()})

    def __len__(self) -> int:
        return self.frame.height

    def array(self, name: str) -> npt.NDArray[Any]:
        """The column as a numpy array (no copy where polars allows it), kept for the next reader."""
        found = self._arrays.get(name)
        if found is None:
            found = self._arrays[name] = self.frame.get_column(name).to_numpy()
        return found

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The given rows (indices or a boolean mask), in that order."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return type(self)(self.frame[index])
