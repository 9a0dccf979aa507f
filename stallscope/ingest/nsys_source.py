"""The narrow interface between an Nsight Systems export, whatever its container, and the tables built from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

import polars as pl

Kind = Literal["int", "float", "text"]

DTYPES: dict[Kind, pl.DataType] = {"int": pl.Int64(), "float": pl.Float64(), "text": pl.String()}


class ExportSource(Protocol):
    """One export, opened read-only.

    Raises `InputError` from every method when the file turns out to be damaged.
    """

    @property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """Table name → column names, as this exporter wrote them."""

    def read(self, table: str, columns: Mapping[str, Kind]) -> pl.DataFrame:
        """The wanted columns of one table in file order; a column that the table lacks comes back null.

        Integers are signed 64 bit (ids above 2^63 wrap, as SQLite stores them), bytes that are not UTF-8 are replaced.
        """

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """Text of the given StringIds; ids that the export lacks are left out."""

    def weight(self, table: str) -> int:
        """Relative size of a table, cheap to tell, for a progress bar."""

    def close(self) -> None:
        """Release the file."""


def integers(*names: str) -> dict[str, Kind]:
    """Column specification of integer columns."""
    return dict.fromkeys(names, "int")


def constant(name: str, value: int | str | None, dtype: pl.DataType, rows: int) -> pl.Series:
    """One value in every row."""
    filled: pl.Series = pl.Series(name, [value], dtype=dtype).new_from_index(0, rows)
    return filled


def decoded(column: pl.Series) -> pl.Series:
    """Text of a binary column; bytes that are not UTF-8 become U+FFFD."""
    text: pl.Series
    try:
        text = column.cast(pl.String)
    except pl.exceptions.ComputeError:
        distinct = column.drop_nulls().unique()
        repaired = pl.Series([bytes(raw).decode("utf-8", "replace") for raw in distinct], dtype=pl.String)
        text = column.replace_strict(distinct, repaired, default=None, return_dtype=pl.String)
    return text
