"""Typed columnar tables: a class names its columns once, every consumer reads them by attribute."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast, overload

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T", bound=np.generic)

Rows = npt.NDArray[Any] | slice

_REPLACING = Lock()
"""Held while a column changes between an array and the function that makes it."""

NO_ROW = -1
"""Value of a link column (an index into another table) that points nowhere."""


def chosen(values: npt.NDArray[T], rows: Rows) -> npt.NDArray[T]:
    """`values[rows]` for a slice or an array of indices, for which numpy's `take` is faster."""
    return values[rows] if isinstance(rows, slice) else values.take(rows)


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


class Packed(ABC):
    """A column kept in few bytes, that makes all of its values or those of some rows."""

    __slots__ = ()

    @abstractmethod
    def __call__(self) -> npt.NDArray[Any]:
        """All values."""

    @abstractmethod
    def at(self, rows: Rows) -> npt.NDArray[Any]:
        """The values in some rows (a slice, or indices of which none is negative)."""


class _Columns(NamedTuple):
    """What a table holds that was not made from a frame: columns, and functions for those nobody has read yet."""

    length: int
    arrays: dict[str, npt.NDArray[Any]]
    pending: dict[str, Callable[[], npt.NDArray[Any]]]


class Table:
    """Rows of one kind in typed columns; names and dtypes are checked once, here.

    Raises `TypeError` when the columns or dtypes differ from the declared ones or a value is null.
    An absent table and an empty one are different answers: absent means *not collected*.
    """

    COLUMNS: ClassVar[Mapping[str, Column[Any]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Column)}
        cls.COLUMNS = {**cls.COLUMNS, **own}

    def __init__(self, content: pl.DataFrame | _Columns) -> None:
        self._frame: pl.DataFrame | None = None
        if isinstance(content, _Columns):
            self._length, self._arrays, self._pending = content
            return
        self._check(content)
        self._frame, self._length, self._arrays, self._pending = content, content.height, {}, {}

    def _check(self, frame: pl.DataFrame) -> None:
        expected = self._schema()
        if dict(frame.schema) != expected:
            raise TypeError(f"{type(self).__name__}: columns {dict(frame.schema)} instead of {expected}")
        if any(frame.null_count().row(0)) if frame.width else False:
            raise TypeError(f"{type(self).__name__}: null values in {frame.null_count().to_dicts()[0]}")

    @classmethod
    def _schema(cls) -> dict[str, pl.DataType]:
        """The columns as polars types; polars is imported where frames are wanted, which small traces do not."""
        import polars as pl

        types: dict[type[np.generic], pl.DataType] = {
            np.int8: pl.Int8(),
            np.int32: pl.Int32(),
            np.int64: pl.Int64(),
            np.float64: pl.Float64(),
            np.bool_: pl.Boolean(),
        }
        return {name: types[column.dtype.type] for name, column in cls.COLUMNS.items()}

    @classmethod
    def of(cls, **columns: npt.ArrayLike) -> Self:
        """Build from one array a column, cast to the declared dtypes. Arrays of these dtypes are shared, not copied."""
        cls._require(columns)
        arrays = {name: cls._checked(name, columns[name]) for name in cls.COLUMNS}
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) > 1:
            raise TypeError(f"{cls.__name__}: columns of different lengths: {sorted(lengths)}")
        return cls(_Columns(lengths.pop() if lengths else 0, arrays, {}))

    @classmethod
    def lazily(cls, length: int, **columns: npt.NDArray[Any] | Callable[[], npt.NDArray[Any]]) -> Self:
        """Build from one array or function a column; a function is called when the column is first read, if ever.

        Most readers of a long table look at few of its columns, and of those at few rows.
        """
        cls._require(columns)
        ready = {name: cls._checked(name, column) for name, column in columns.items() if not callable(column)}
        return cls(_Columns(length, ready, {name: column for name, column in columns.items() if callable(column)}))

    @classmethod
    def empty(cls) -> Self:
        """A collected table in which nothing happened."""
        return cls.of(**{name: np.empty(0, column.dtype) for name, column in cls.COLUMNS.items()})

    @classmethod
    def _require(cls, columns: Mapping[str, object]) -> None:
        unknown = columns.keys() ^ cls.COLUMNS.keys()
        if unknown:
            raise TypeError(f"{cls.__name__}: columns differ from the declared ones: {sorted(unknown)}")

    @classmethod
    def _checked(cls, name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
        """The values in the declared dtype, closed for writing: tables are shared and never change."""
        array: npt.NDArray[Any] = np.asarray(values, dtype=cls.COLUMNS[name].dtype).view()
        array.flags.writeable = False
        return array

    def __len__(self) -> int:
        return self._length

    @property
    def frame(self) -> pl.DataFrame:
        """The table as a polars frame, made on demand."""
        if self._frame is None:
            import polars as pl

            self._frame = pl.DataFrame({name: self.array(name) for name in self.COLUMNS}, schema=self._schema())
        return self._frame

    def array(self, name: str) -> npt.NDArray[Any]:
        """The column as a numpy array (no copy where polars allows it), kept for the next reader."""
        found = self._arrays.get(name)
        if found is None:
            make = self._pending.get(name)
            found = self._arrays[name] = self.read(name)
            with _REPLACING:
                if self._pending.get(name) is make:
                    self._pending.pop(name, None)  # with all that only it kept
        return found

    def read(self, name: str) -> npt.NDArray[Any]:
        """The same, but a column that has to be made is not kept: for long ones that are looked at once."""
        found = self._arrays.get(name)
        if found is not None:
            return found
        if self._frame is not None:
            return self._frame.get_column(name).to_numpy()
        make = self._pending.get(name)  # None: another thread was faster
        return self._arrays[name] if make is None else self._checked(name, make())

    def at(self, column: Column[T], rows: Rows) -> npt.NDArray[T]:
        """The column in some rows (a slice, or indices of which none is negative); a packed one stays packed."""
        kept = self._pending.get(column.name)
        found = kept.at(rows) if isinstance(kept, Packed) else chosen(self.array(column.name), rows)
        return cast("npt.NDArray[T]", found.astype(column.dtype, copy=False))

    def shared(self, name: str) -> npt.NDArray[Any] | Callable[[], npt.NDArray[Any]]:
        """The column for another table of the same rows, as it is kept here, or a function that makes it when asked."""
        kept = self._pending.get(name)
        return kept if isinstance(kept, Packed) else self._arrays.get(name, partial(self.read, name))

    def replace_by(self, name: str, make: Callable[[], npt.NDArray[Any]]) -> None:
        """Keep a function in place of a column: another table holds what it needs to make the same values again.

        For long columns that hardly anybody reads any more.
        """
        with _REPLACING:
            self._pending[name] = make  # first, so that other threads find one or the other
            self._arrays.pop(name, None)

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The given rows (indices or a boolean mask), in that order; each column is taken when it is read."""
        index = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
        return self.lazily(len(index), **{name: partial(self._taken, name, index) for name in self.COLUMNS})

    def with_columns(self, **columns: npt.NDArray[Any]) -> Self:
        """The same rows with other values in some columns."""
        kept = {name: self.shared(name) for name in self.COLUMNS.keys() - columns.keys()}
        return self.lazily(len(self), **kept, **columns)

    def _taken(self, name: str, index: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return self.at(self.COLUMNS[name], index)


TableT = TypeVar("TableT", bound=Table)


def joined(tables: Sequence[TableT], order: str) -> TableT:
    """The rows of several tables of one kind (at least one), sorted by a column; equal ones stay in the given order."""
    if len(tables) == 1:
        return tables[0]
    kind = type(tables[0])
    whole = kind.of(**{name: np.concatenate([table.array(name) for table in tables]) for name in kind.COLUMNS})
    return whole.take(np.argsort(whole.array(order), kind="stable"))
