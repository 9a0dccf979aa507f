"""The narrow interface between an Nsight Systems export, whatever its container, and the tables built from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from stallscope.ingest.export_rows import Rows

PlainKind = Literal["int", "float", "text"]
"""What a column holds."""

Kind = Literal[PlainKind, "zero", "size", "int32", "key", "name"]
"""How a column is wanted.

`zero`: integers, 0 where there is no value. `size`, `int32`: the same, clipped to 31 bits or to 32 bits with a sign.
`key`, `name`: integers or text of which a table repeats few distinct ones, as codes.
"""

BOUNDS: dict[Kind, tuple[int, int]] = {"size": (0, (1 << 31) - 1), "int32": (-(1 << 31), (1 << 31) - 1)}
"""What integers of 32 bits are clipped to."""

PLAIN: dict[Kind, PlainKind] = {
    "int": "int", "float": "float", "text": "text",
    "zero": "int", "size": "int", "int32": "int", "key": "int", "name": "text",
}  # fmt: skip


class ExportSource(Protocol):
    """One export, opened read-only.

    Raises `InputError` from every method when the file turns out to be damaged.
    """

    @property
    def tables(self) -> Mapping[str, frozenset[str]]:
        """Table name → column names, as this exporter wrote them."""

    def records(self, table: str, columns: Mapping[str, PlainKind]) -> list[tuple[Any, ...]]:
        """The wanted columns of a small table, a tuple a row in file order; what is missing comes back as None.

        A missing text may come back as an empty one.
        Integers are signed 64 bit (ids above 2^63 wrap, as SQLite stores them), bytes that are not UTF-8 are replaced.
        """

    def rows(self, table: str, columns: Mapping[str, Kind]) -> Rows:
        """The same for tables that grow with the capture, each column in the form that suits its use."""

    def announce(self, table: str, columns: Mapping[str, Kind]) -> None:
        """Say early that `rows` will be asked for this, so that it can be read beside other work; changes no answer."""

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """Text of the given StringIds; ids that the export lacks are left out."""

    def weight(self, table: str) -> int:
        """Relative size of a table, cheap to tell, for a progress bar."""

    def close(self) -> None:
        """Release the file."""


def integers(*names: str) -> dict[str, PlainKind]:
    """Column specification of integer columns."""
    return dict.fromkeys(names, "int")


def wanted(kind: Kind, *names: str) -> dict[str, Kind]:
    """Column specification of columns of one kind."""
    return dict.fromkeys(names, kind)
