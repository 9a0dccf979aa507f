"""Columns from decoded events: exact nanoseconds, integer ids whatever way they were written, interned names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from stallscope.model.columns import NO_ROW

Int64Array = npt.NDArray[np.int64]

_INT64 = np.iinfo(np.int64)
_MICROSECONDS = pl.Decimal(38, 3)


def nanoseconds(texts: Iterable[msgspec.Raw]) -> tuple[Int64Array, npt.NDArray[np.bool_]]:
    """Microseconds as text → nanoseconds, rounded to the nearest, and a mask of the rows that hold a number.

    Decimal arithmetic all the way: a double near 1.7e15 µs has a step of 0.25 µs.
    """
    plain = _strings(list(texts))
    exact = plain.cast(_MICROSECONDS, strict=False)
    if exact.null_count():  # absent, no number, or a number in quotes
        exact = plain.str.strip_chars('"').cast(_MICROSECONDS, strict=False)
    known = exact.is_not_null().to_numpy()
    whole = (exact * 1000).cast(pl.Int64, strict=False).fill_null(0)
    return whole.to_numpy(), known


def _strings(texts: list[msgspec.Raw]) -> pl.Series:
    """One string a text. A number holds no line break, so one text of all of them can be taken apart again."""
    lines = pl.Series([b"\n".join(texts).decode("latin-1")]).str.split("\n").explode()
    if len(lines) == len(texts):
        return lines
    return pl.Series([str(text, "latin-1") for text in texts], dtype=pl.String)


def integers(values: Sequence[Any], missing: int = 0) -> Int64Array:
    """Numbers as int64; strings are parsed, what is no number (or too large for int64) is `missing`."""
    try:
        return np.array(either(values, itertools.repeat(missing)), dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        return np.array([integer(v, missing) for v in values], dtype=np.int64)


def either(values: Sequence[Any], others: Iterable[Any]) -> Sequence[Any]:
    """Each value, or the other one where it is None. Most columns have all of their values or none."""
    if None not in values:
        return values
    return [other if value is None else value for value, other in zip(values, others)]  # noqa: B905 - others may go on


def integer(value: Any, missing: int = 0) -> int:
    """One number of any spelling: `7`, `"7"`, `"0x7f"`, `"stream 7"`, 7.0."""
    if isinstance(value, str):
        word = value.rsplit(" ", 1)[-1]
        try:
            value = int(word, 0)
        except ValueError:
            return missing
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
        return missing
    return int(value) if _INT64.min <= value < _INT64.max else missing


def triples(values: Sequence[Any]) -> npt.NDArray[np.int32]:
    """`[x, y, z]` lists as an (n, 3) array; zeros where absent."""
    rows = [v if isinstance(v, list) and len(v) == 3 else (0, 0, 0) for v in values]
    try:
        found = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    except (TypeError, ValueError, OverflowError):
        found = np.array([[integer(v) for v in row] for row in rows], dtype=np.int64).reshape(len(rows), 3)
    return np.clip(found, 0, np.iinfo(np.int32).max).astype(np.int32)


def match(keys: Int64Array, wanted: Int64Array) -> Int64Array:
    """Row of the first key equal to each wanted id, or NO_ROW; id 0 is unknown and matches nothing."""
    if not len(keys):
        return np.full(len(wanted), NO_ROW, np.int64)
    order = np.argsort(keys, kind="stable")
    position = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    row = order[position]
    return np.where((wanted > 0) & (keys[row] == wanted), row, NO_ROW)


class _Seen(dict[str, int]):
    """Ids of the strings met so far, the others asked for once. Raises TypeError for what is no string."""

    def __init__(self, identify: Callable[[str], int]) -> None:
        super().__init__()
        self._identify = identify

    def __missing__(self, name: str) -> int:
        if not isinstance(name, str):
            raise TypeError(name)
        self[name] = found = self._identify(name)
        return found


class NameTable:
    """Interned strings of one trace in order of appearance; 0 is the empty string."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        """Id of one string."""
        return self._ids.setdefault(text, len(self._ids))

    def column(self, texts: Iterable[Any], change: Callable[[str], str] | None = None) -> npt.NDArray[np.int32]:
        """Ids of many strings, each distinct one changed once."""
        seen = _Seen(lambda name: self.add(change(name) if change else name))
        wanted = list(texts)
        try:
            return np.array([seen[text] for text in wanted], dtype=np.int32)
        except TypeError:  # a name that is no string
            return np.array([seen[text if isinstance(text, str) else str(text)] for text in wanted], dtype=np.int32)

    def texts(self) -> tuple[str, ...]:
        """All strings; position = id."""
        return tuple(self._ids)
