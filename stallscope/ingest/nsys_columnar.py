"""Folders of `nsys export --type parquetdir` and `arrowdir`: one file a table, Parquet or Arrow IPC streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from stallscope.errors import InputError
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.arrow_checks import sound_frame
from stallscope.ingest.arrow_messages import unfolded_bytes
from stallscope.ingest.export_frames import DTYPES, constant, decoded, rows_of
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.identify import SUFFIXES
from stallscope.ingest.limits import require_plausible
from stallscope.ingest.nsys_source import PLAIN, Kind, PlainKind

T = TypeVar("T")

_EXPORT_AGAIN = "export the report again: nsys export --type parquetdir --force-overwrite true REPORT.nsys-rep"


class FolderExport:
    """An export in a folder. Nothing is ever written into it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = _files(folder)
        self._schemas = {name: self._schema(name) for name in self._files}
        self.tables: Mapping[str, frozenset[str]] = {name: self._columns(name) for name in self._files}
        if not schema.looks_like_export(self.tables):
            raise InputError(
                "a folder without the tables of an nsys export",
                file=folder.name,
                next_step="give a folder of nsys export --type parquetdir, or the .nsys-rep report itself",
            )

    def rows(self, table: str, columns: Mapping[str, Kind]) -> Rows:
        """See `ExportSource.rows`."""
        return rows_of(self._read(table, {name: PLAIN[kind] for name, kind in columns.items()}), columns)

    def records(self, table: str, columns: Mapping[str, PlainKind]) -> list[tuple[Any, ...]]:
        """See `ExportSource.records`."""
        return self._read(table, columns).rows()

    def _read(self, table: str, columns: Mapping[str, PlainKind]) -> pl.DataFrame:
        have = self.tables[table]
        present = [name for name in columns if name in have]
        wanted = present or sorted(have)[:1]
        return self._guarded(table, lambda: self._typed(self._load(table, wanted), columns))

    def _typed(self, frame: pl.DataFrame, columns: Mapping[str, PlainKind]) -> pl.DataFrame:
        have = set(frame.columns)
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
        rows = self._read(table, {"id": "int", "value": "text"})
        return dict(rows.filter(pl.col("id").is_in(wanted)).drop_nulls().iter_rows())

    def announce(self, table: str, columns: Mapping[str, Kind]) -> None:
        """See `ExportSource.announce`: a column store needs no head start."""

    def weight(self, table: str) -> int:
        """See `ExportSource.weight`: bytes of the file."""
        return self._files[table].stat().st_size

    def close(self) -> None:
        """See `ExportSource.close`."""

    def _schema(self, table: str) -> Any:
        return self._guarded(table, lambda: _schema(self._files[table]))

    def _columns(self, table: str) -> frozenset[str]:
        return self._guarded(table, lambda: frozenset(self._schemas[table].names))

    def _load(self, table: str, columns: list[str]) -> pl.DataFrame:
        file, known = self._files[table], self._schemas[table]
        told = {"file": f"{self._folder.name}/{file.name}", "next_step": _EXPORT_AGAIN}
        for field in (known.field(name) for name in columns):
            if not _is_plain(field.type):
                raise InputError(f"column {field.name} holds {field.type}, which nsys never writes", **told)
        if file.suffix == ".parquet":
            rows, unfolded = _parquet_claims(file)
            require_plausible(max(rows * len(columns), unfolded // 8), file.stat().st_size, **told)
            return _parquet(file, known, columns)
        require_plausible(unfolded_bytes(file) // 8, file.stat().st_size, **told)
        return _arrow(file, known, columns)

    def _guarded(self, table: str, work: Callable[[], T]) -> T:
        import pyarrow as pa  # type: ignore[import-untyped]

        damage = (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException)
        try:
            return work()
        except (*damage, OSError, ValueError, KeyError, MemoryError) as error:
            file = f"{self._folder.name}/{self._files[table].name}"
            raise InputError(f"damaged file ({_first_line(error)})", file=file, next_step=_EXPORT_AGAIN) from error


def _first_line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


def _files(folder: Path) -> dict[str, Path]:
    for suffix in SUFFIXES:
        found = {file.stem: file for file in sorted(folder.glob(f"*{suffix}")) if file.is_file()}
        if found:
            return found
    return {}


def _schema(file: Path) -> Any:
    """Names and types of a file's columns. Files are read, not mapped: a mapped one that is cut ends the process."""
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    if file.suffix == ".parquet":
        with pa.OSFile(str(file)) as stream:
            return pq.read_schema(stream)
    with pa.OSFile(str(file)) as stream, pa.ipc.open_stream(stream) as reader:
        return reader.schema


def _parquet_claims(file: Path) -> tuple[int, int]:
    """Rows and uncompressed bytes of a Parquet file, as its footer claims."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pa.OSFile(str(file)) as stream:
        footer = pq.read_metadata(stream)
    groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
    return max(footer.num_rows, sum(group.num_rows for group in groups)), sum(group.total_byte_size for group in groups)


def _parquet(file: Path, known: Any, columns: list[str]) -> pl.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = [name for name in columns if not pa.types.is_primitive(known.field(name).type)]
    with pa.OSFile(str(file)) as stream, pq.ParquetFile(stream, read_dictionary=texts) as reader:
        return sound_frame(reader.read(columns=columns), file.stat().st_size)


def _arrow(file: Path, known: Any, columns: list[str]) -> pl.DataFrame:
    import pyarrow as pa

    with pa.OSFile(str(file)) as stream:
        options = pa.ipc.IpcReadOptions(included_fields=sorted(known.names.index(name) for name in columns))
        with pa.ipc.open_stream(stream, options=options) as reader:
            return sound_frame(reader.read_all().select(columns), file.stat().st_size)


def _is_plain(kind: Any) -> bool:
    """Numbers, text and bytes; lists, maps, structures and times are not what an export holds."""
    import pyarrow as pa

    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return any(is_kind(value) for is_kind in (*kinds, *texts))


def _typed(column: pl.Series, kind: PlainKind) -> pl.Series:
    if kind == "text":
        return decoded(column)
    if kind == "int" and column.dtype == pl.UInt64:
        signed: pl.Series = column.reinterpret(signed=True)
        return signed
    cast: pl.Series = column.cast(DTYPES[kind])
    return cast
