"""A trace that another program changes, or cuts short, while it is read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlite_build import ExportBuilder
from stand_ins import TRACE

from stallscope.errors import InputError
from stallscope.ingest import nsys_trace
from stallscope.ingest.nsys_columnar import FolderExport
from stallscope.ingest.nsys_sqlite import SqliteExport
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.events import Kernels
from stallscope.model.trace import Trace

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(bytes(4096))


def touched(path: Path) -> None:
    os.utime(path, (1, 1))


def exchanged(path: Path) -> None:
    other = shutil.copyfile(path, path.with_name("other"))
    other.replace(path)


@pytest.mark.parametrize("change", [appended, touched, exchanged])
def test_a_file_that_changes_while_it_is_read(
    change: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, cache = shutil.copyfile(TRACE, tmp_path / "t.sqlite"), tmp_path / "cache"
    real = nsys_trace.read_trace

    def changing(*arguments: object) -> Trace:
        change(path)
        return real(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as busy:
        busy.setattr(nsys_trace, "read_trace", changing)
        with pytest.raises(InputError, match="changed while it was read") as refused:
            open_trace(path, OpenOptions(cache_dir=str(cache)))
    assert refused.value.file == "t.sqlite"
    assert not (cache / "tables").exists()
    shutil.copyfile(TRACE, path)
    assert open_trace(path, OpenOptions(cache_dir=str(cache))).table(Kernels) is not None


def test_a_pytorch_trace_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import kineto_text

    from stallscope.ingest import kineto

    path = kineto_text.write(tmp_path, [kineto_text.kernel(1, 2)])
    real = kineto.read_kineto

    def growing(path: Path) -> Trace:
        found = real(path)
        appended(path)
        return found

    monkeypatch.setattr(kineto, "read_kineto", growing)
    with pytest.raises(InputError, match="changed while it was read"):
        open_trace(path)


@pytest.mark.parametrize("kept", [0, 100, 5000, 0.5, 0.9])
def test_a_database_that_is_cut_while_it_is_open(kept: float, tmp_path: Path) -> None:
    """A mapped file would end the process here."""
    build = ExportBuilder()
    for at in range(20_000):
        build.kernel(at * 10 + 1, at * 10 + 9)
    path = build.write(tmp_path / "t.sqlite")
    source = SqliteExport(path)
    try:
        size = path.stat().st_size
        os.truncate(path, int(size * kept) if kept < 1 else int(kept))
        with pytest.raises(InputError, match="damaged"):
            source.records(KERNELS, {"start": "int", "end": "int", "shortName": "int"})
    finally:
        source.close()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kept", [0, 100, 0.5])
def test_a_folder_whose_file_is_cut_after_it_was_opened(suffix: str, kept: float, tmp_path: Path) -> None:
    columns = {name: pa.array(range(200_000), pa.int64()) for name in ("start", "end", "deviceId")}
    tables = {KERNELS: pa.table(columns), "StringIds": pa.table({"id": [1], "value": ["k"]})}
    for name, table in tables.items():
        file = tmp_path / f"{name}{suffix}"
        if suffix == ".parquet":
            pq.write_table(table, file)
        else:
            with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as out:
                out.write_table(table)
    source = FolderExport(tmp_path)
    file = tmp_path / f"{KERNELS}{suffix}"
    os.truncate(file, int(file.stat().st_size * kept) if kept < 1 else int(kept))
    with pytest.raises(InputError, match="damaged"):
        source.records(KERNELS, {"start": "int", "end": "int"})
