"""Folders of `nsys export --type parquetdir` and `arrowdir`: one file a table, Parquet or Arrow IPC streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from stallscope.errors import InputError
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_source import DTYPES, Kind, constant, decoded

T = TypeVar("T")

SUFFIXES = (".parquet", ".arrow")
_EXPORT_AGAIN = "export the report again: nsys export --type parquetdir --force-overwrite true REPORT.nsys-rep"


class FolderExport:
    """An export in a folder. Nothing is ever written into it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = _files(folder)
        self.tables: Mapping[str, frozenset[str]] = {name: self._columns(name) for name in self._files}
        if not schema.looks_like_export(self.tables):
            raise InputError(
                "a folder without the tables of an nsys export",
                file=folder.name,
                next_step="give a folder of nsys export --type parquetdir, or the .nsys-rep report itself",
            )

    def read(self, table: str, columns: Mapping[str, Kind]) -> pl.DataFrame:
        """See `ExportSource.read`."""
        have = self.tables[table]
        present = [name for name in columns if name in have]
        frame = self._load(table, present or sorted(have)[:1])
        return pl.DataFrame(
            [
                _typed(frame.get_column(name), kind)
                if name in have
                else constant(name, None, DTYPES[kind], frame.height)
                for name, kind in columns.items()
            ]
        )

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        """See `ExportSource.strings`."""
        table = schema.actual(self.tables, schema.STRINGS)
        wanted = list(ids)
        if table is None or not wanted:
            return {}
        rows = self.read(table, {"id": "int", "value": "text"})
        return dict(rows.filter(pl.col("id").is_in(wanted)).iter_rows())

    def weight(self, table: str) -> int:
        """See `ExportSource.weight`: bytes of the file."""
        return self._files[table].stat().st_size

    def close(self) -> None:
        """See `ExportSource.close`."""

    def _columns(self, table: str) -> frozenset[str]:
        file = self._files[table]
        if file.suffix == ".parquet":
            return frozenset(self._guarded(table, lambda: pl.read_parquet_schema(file)))
        return frozenset(self._guarded(table, lambda: _arrow_schema(file)))

    def _load(self, table: str, columns: list[str]) -> pl.DataFrame:
        file = self._files[table]
        if file.suffix == ".parquet":
            return self._guarded(table, lambda: _parquet(file, columns))
        return self._guarded(table, lambda: _arrow(file, columns))

    def _guarded(self, table: str, work: Callable[[], T]) -> T:
        import pyarrow as pa  # type: ignore[import-untyped]

        try:
            return work()
        except (pl.exceptions.PolarsError, pa.ArrowException, OSError) as error:
            file = f"{self._folder.name}/{self._files[table].name}"
            raise InputError(f"damaged file ({error})", file=file, next_step=_EXPORT_AGAIN) from error


def _files(folder: Path) -> dict[str, Path]:
    for suffix in SUFFIXES:
        found = {file.stem: file for file in sorted(folder.glob(f"*{suffix}")) if file.is_file()}
        if found:
            return found
    return {}


def _parquet(file: Path, columns: list[str]) -> pl.DataFrame:
    try:
        return pl.read_parquet(file, columns=columns)
    except pl.exceptions.PolarsError:
        return _by_pyarrow(file, columns)


def _by_pyarrow(file: Path, columns: list[str]) -> pl.DataFrame:
    """The same through pyarrow, which hands over text that is not UTF-8 as the bytes it is."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    return _text_as_bytes(pq.read_table(file, columns=columns))


def _arrow_schema(file: Path) -> list[str]:
    import pyarrow as pa

    with pa.memory_map(str(file)) as stream, pa.ipc.open_stream(stream) as reader:
        return list(reader.schema.names)


def _arrow(file: Path, columns: list[str]) -> pl.DataFrame:
    import pyarrow as pa

    with pa.memory_map(str(file)) as stream, pa.ipc.open_stream(stream) as reader:
        return _text_as_bytes(reader.read_all().select(columns))


def _text_as_bytes(table: Any) -> pl.DataFrame:
    import pyarrow as pa

    plain = [field.with_type(_without_encoding(field.type)) for field in table.schema]
    frame = pl.from_arrow(table.cast(pa.schema(plain)))
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _without_encoding(kind: Any) -> Any:
    import pyarrow as pa

    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_string(value) or pa.types.is_large_string(value)
    return pa.large_binary() if text else value


def _typed(column: pl.Series, kind: Kind) -> pl.Series:
    if kind == "text":
        return decoded(column)
    if kind == "int" and column.dtype == pl.UInt64:
        signed: pl.Series = column.reinterpret(signed=True)
        return signed
    cast: pl.Series = column.cast(DTYPES[kind])
    return cast
