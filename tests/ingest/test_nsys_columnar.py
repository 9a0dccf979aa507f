"""Parquet and Arrow export folders give what the SQLite export gives."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlite_build import FRESH, ExportBuilder, collected, global_pid, opened

from stallscope.errors import InputError
from stallscope.ingest.open import open_trace
from stallscope.model import events

UNSIGNED = {"globalPid", "globalTid", "endGlobalTid", "domainId", "nameId", "shortName", "graphNodeId", "contextId"}


def arrow_table(build: ExportBuilder, table: str) -> pa.Table:
    """Columns with the types that nsys writes: ids unsigned, StringIds.id 32 bit, the rest signed."""
    columns = {}
    for column in build.columns[table]:
        name = column.rstrip(":")
        values = [row.get(name) for row in build.rows[table]]
        if column.endswith(":"):
            columns[name] = pa.array(values, pa.string())
        elif name in UNSIGNED:
            columns[name] = pa.array([None if v is None else v % (1 << 64) for v in values], pa.uint64())
        else:
            columns[name] = pa.array(values, pa.int32() if table == "StringIds" else pa.int64())
    return pa.table(columns)


def write_folder(build: ExportBuilder, folder: Path, kind: str) -> Path:
    folder.mkdir()
    for table in build.rows:
        written = arrow_table(build, table)
        if kind == "parquet":
            pq.write_table(written, folder / f"{table}.parquet", compression="none")
        else:
            with pa.ipc.new_stream(folder / f"{table}.arrow", written.schema) as stream:
                stream.write_table(written)
    return folder


def program() -> ExportBuilder:
    key = global_pid(77, vm=0xFE00)  # negative in SQLite, beyond 2^63 in Parquet
    build = ExportBuilder("2026.2").kernel(200, 300, "axpy", globalPid=key, correlationId=1, graphNodeId=(1 << 63) + 5)
    build.rows["CUPTI_ACTIVITY_KIND_KERNEL"][0]["graphNodeId"] -= 1 << 64
    build.kernel(100, 150, "first", globalPid=key)
    build.call(50, 90, "cudaLaunchKernel_v7000", globalTid=key | 9, correlationId=1).copy(310, 400, globalPid=key)
    build.range(40, 95, "inline", globalTid=key | 9).range(41, 94, textId=build.text("registered"), globalTid=key | 9)
    build.add("TARGET_INFO_GPU", vmId=1 << 48, id=0, name="Synthetic GPU", cuDevice=0)
    return build


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_folder_gives_the_same_tables(kind: str, tmp_path: Path) -> None:
    from_sqlite = opened(program(), tmp_path)
    trace = open_trace(write_folder(program(), tmp_path / "report_dir", kind), FRESH)
    assert trace.source.format == f"nsys-{kind}"
    assert trace.source.name == "report_dir"
    assert (trace.devices, trace.processes, trace.threads) == (
        from_sqlite.devices,
        from_sqlite.processes,
        from_sqlite.threads,
    )
    assert tuple(trace.names) == tuple(from_sqlite.names)
    assert trace.tables.keys() == from_sqlite.tables.keys()
    for found, table in trace.tables.items():
        assert table.frame.equals(from_sqlite.tables[found].frame), found.__name__


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_text_that_is_not_utf8_is_repaired(kind: str, tmp_path: Path) -> None:
    folder = write_folder(ExportBuilder().kernel(1, 2), tmp_path / "dir", kind)
    raw = pa.array([b"ok", b"caf\xe9"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 2, raw.buffers())  # as the exporter writes it: declared text, any bytes
    broken = pa.table({"id": pa.array([1, 2], pa.int32()), "value": text})
    kernels = pa.table({"start": [5], "end": [9], "deviceId": [0], "shortName": [2], "demangledName": [2]})
    for name, table in (("StringIds", broken), ("CUPTI_ACTIVITY_KIND_KERNEL", kernels)):
        if kind == "parquet":
            pq.write_table(table, folder / f"{name}.parquet")
        else:
            with pa.ipc.new_stream(folder / f"{name}.arrow", table.schema) as stream:
                stream.write_table(table)
    trace = open_trace(folder, FRESH)
    assert trace.names[int(collected(trace, events.Kernels).name[0])] == "caf\ufffd"


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_damaged_file_is_named(kind: str, tmp_path: Path) -> None:
    folder = write_folder(program(), tmp_path / "dir", kind)
    file = folder / f"CUPTI_ACTIVITY_KIND_KERNEL.{kind}"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.raises(InputError, match="damaged") as refused:
        open_trace(folder, FRESH)
    assert refused.value.file == f"dir/CUPTI_ACTIVITY_KIND_KERNEL.{kind}"


def test_a_folder_of_other_parquet_files_is_refused(tmp_path: Path) -> None:
    """A recipe's output holds Parquet files too."""
    pl.DataFrame({"Name": ["range"]}).write_parquet(tmp_path / "trace.parquet")
    with pytest.raises(InputError, match="without the tables of an nsys export"):
        open_trace(tmp_path, FRESH)
