"""The same scrubbing for export folders: one Parquet file or Arrow stream a table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stallscope.errors import InputError
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.identify import SUFFIXES
from stallscope.ingest.nsys_columnar import FolderExport
from stallscope.ingest.nsys_private import (
    STRING_IDS,
    Cleaner,
    Identity,
    keeps_row,
    keeps_table,
    keeps_text,
    kept_text,
    metadata_rows,
)
from stallscope.ingest.nsys_scrub import Scrubbed


def scrub_folder(source: Path, target: Path) -> Scrubbed:
    """See `nsys_scrub.scrub`; the copy is written in the format of the source."""
    import pyarrow as pa  # type: ignore[import-untyped]

    FolderExport(source).close()  # refuses what is no export
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.mkdir()
        result = _copy(source, part)
        part.replace(target)
    except (pa.ArrowException, ValueError) as error:
        raise InputError(f"damaged file ({error})", file=source.name) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return result


def _copy(source: Path, target: Path) -> Scrubbed:
    files = _files(source)
    clean = Cleaner(Identity.of(_metadata(files)))
    kept = [name for name in files if keeps_table(name) and name not in schema.STRINGS]
    used: set[int] = set()
    for name in kept:
        table = _scrubbed(name, _read(files[name]), clean)
        used.update(_string_ids(table))
        _write(table, target / files[name].name)
    strings = schema.actual(files, schema.STRINGS)
    if strings is not None:
        _write(_strings(_read(files[strings]), used, clean), target / files[strings].name)
        kept.append(strings)
    return Scrubbed(tuple(sorted(kept)), tuple(sorted(set(files) - set(kept))), clean.changed)


def _scrubbed(name: str, table: Any, clean: Cleaner) -> Any:
    import pyarrow as pa

    metadata = metadata_rows(name) is not None
    if metadata:
        pairs = zip(table.column("name").to_pylist(), table.column("value").to_pylist(), strict=True)
        table = table.filter(pa.array([keeps_row(name, key, value) for key, value in pairs], pa.bool_()))
    columns = {}
    for field in table.schema:
        column = table.column(field.name)
        if _is_number(field.type):
            columns[field.name] = column
        elif metadata and field.name in {"name", "value"}:
            columns[field.name] = column.cast(pa.string())
        elif keeps_text(name, field.name):
            texts = (clean(kept_text(name, field.name, text)) for text in column.to_pylist())
            columns[field.name] = pa.array(texts, pa.string())
        else:
            columns[field.name] = pa.nulls(len(table), pa.string())
    return pa.table(columns)


def _strings(table: Any, used: set[int], clean: Cleaner) -> Any:
    import pyarrow as pa

    pairs = zip(table.column("id").to_pylist(), table.column("value").to_pylist(), strict=True)
    kept = [(number, clean(text)) for number, text in pairs if number in used]
    ids = pa.array([number for number, _ in kept], table.schema.field("id").type)
    return pa.table({"id": ids, "value": pa.array([text for _, text in kept], pa.string())})


def _string_ids(table: Any) -> Iterator[int]:
    for column in table.schema.names:
        if column in STRING_IDS:
            yield from (number for number in table.column(column).unique().to_pylist() if number is not None)


def _metadata(files: dict[str, Path]) -> Iterator[tuple[str, str]]:
    for name, file in files.items():
        if metadata_rows(name) is not None:
            table = _read(file)
            pairs = zip(table.column("name").to_pylist(), table.column("value").to_pylist(), strict=True)
            yield from ((str(key), str(value)) for key, value in pairs if key and value)


def _files(folder: Path) -> dict[str, Path]:
    for suffix in SUFFIXES:
        found = {file.stem: file for file in sorted(folder.glob(f"*{suffix}")) if file.is_file()}
        if found:
            return found
    return {}


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return bool(numeric or pa.types.is_null(kind))


def _read(file: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    if file.suffix == ".parquet":
        return pq.read_table(file)
    with pa.memory_map(str(file)) as stream, pa.ipc.open_stream(stream) as reader:
        return reader.read_all()


def _write(table: Any, file: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    plain = table.replace_schema_metadata(None)
    if file.suffix == ".parquet":
        pq.write_table(plain, file, compression="zstd")
        return
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, plain.schema) as writer:
        writer.write_table(plain)
