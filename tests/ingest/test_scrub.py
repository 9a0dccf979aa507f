"""Scrubbing: nothing that identifies somebody travels, everything that the analysis needs does."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from stallscope.api import analyze_trace
from stallscope.cli.scrub import command
from stallscope.errors import InputError, UsageError
from stallscope.ingest.nsys_private import Cleaner, Identity, keeps_table, keeps_text
from stallscope.ingest.nsys_scrub import scrub
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.analysis import Analysis

SECRETS = (
    "hunter2-token-value",
    "marie.curie",
    "gpu-node-77",
    "/home/marie.curie/project",
    "--dataset=/secret/data",
    "line printed by the program",
    "MY_OWN_VARIABLE",
    "future column text",
)
ENVIRONMENT = ("API_TOKEN=hunter2-token-value", "USER=marie.curie", "HOSTNAME=gpu-node-77", "MY_OWN_VARIABLE=1")


@pytest.fixture
def export(repository: Path, tmp_path: Path) -> Path:
    """A real capture into which everything was put back that nsys records about its author."""
    file = tmp_path / "full.sqlite"
    shutil.copy(repository / "sample_traces/h200/cu_alloc.sqlite", file)
    file.chmod(0o600)
    with closing(sqlite3.connect(file)) as database:
        put_back(database)
        database.commit()
    return file


def put_back(database: sqlite3.Connection) -> None:
    def rows(table: str, *values: tuple[object, ...]) -> None:
        marks = ",".join("?" * len(values[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - own table names

    for table in ("META_DATA_CAPTURE", "META_DATA_EXPORT"):
        database.execute(f"CREATE TABLE IF NOT EXISTS {table} (name TEXT, value TEXT)")
    rows("META_DATA_CAPTURE", *(("PROCESS_0:ENVIRONMENT_VARIABLE", variable) for variable in ENVIRONMENT))
    rows(
        "META_DATA_CAPTURE", ("PROCESS_0:ARGUMENT_0", "--dataset=/secret/data"), ("DEVICE_DISPLAY_NAME", "gpu-node-77")
    )
    rows("META_DATA_CAPTURE", ("PROCESS_0:WORKING_DIR", "/home/marie.curie/project"))
    rows("META_DATA_EXPORT", ("EXPORT_HOST", "gpu-node-77"), ("EXPORT_USER", "marie.curie"))
    rows("META_DATA_EXPORT", ("EXPORT_PARAM_INPUT_PATH_ABS", "/home/marie.curie/project/a.nsys-rep"))
    database.execute("DROP TABLE IF EXISTS TARGET_INFO_SYSTEM_ENV")
    database.execute(
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INT, devStateName TEXT, name TEXT, nameEnum INT, value TEXT)"
    )
    rows("TARGET_INFO_SYSTEM_ENV", (0, "marie.curie", "DeviceEnvironment", 610, ";".join(ENVIRONMENT)))
    rows(
        "TARGET_INFO_SYSTEM_ENV", (0, "x", "Hostname", 619, "gpu-node-77"), (0, "x", "NvDriverVersion", 205, "580.159")
    )
    database.execute("DROP TABLE IF EXISTS ProcessStreams")
    database.execute("CREATE TABLE ProcessStreams (globalPid INT, filenameId INT, contentId INT)")
    rows("ProcessStreams", (1, 900_001, 900_002))
    rows("StringIds", (900_001, "/home/marie.curie/project/train.py"), (900_002, "line printed by the program"))
    database.execute("DROP TABLE IF EXISTS PROCESSES")
    database.execute("CREATE TABLE PROCESSES (globalPid INT, pid INT, name TEXT)")
    rows("PROCESSES", (1, 2, "/home/marie.curie/project/python"))
    database.execute("ALTER TABLE NVTX_EVENTS ADD COLUMN futureText TEXT")
    database.execute("UPDATE NVTX_EVENTS SET futureText = 'future column text'")
    database.execute("UPDATE NVTX_EVENTS SET text = 'load /home/marie.curie/project/batch.bin' WHERE rowid % 7 = 3")
    database.execute("UPDATE NVTX_EVENTS SET endGlobalTid = 'line printed by the program' WHERE rowid % 7 = 4")


def folder_of(export: Path, folder: Path, suffix: str) -> Path:
    folder.mkdir()
    with closing(sqlite3.connect(export)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in names:
            cursor = database.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - own table names
            headers = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
            columns = {header: [row[i] for row in rows] for i, header in enumerate(headers)}
            columns.pop("endGlobalTid", None)
            table = pa.table(columns)
            if suffix == ".parquet":
                pq.write_table(table.replace_schema_metadata({"author": "marie.curie"}), folder / f"{name}.parquet")
            else:
                with (
                    pa.OSFile(str(folder / f"{name}.arrow"), "wb") as sink,
                    pa.ipc.new_stream(sink, table.schema) as out,
                ):
                    out.write_table(table)
    return folder


def secrets_in(place: Path) -> set[str]:
    files = [place] if place.is_file() else list(place.iterdir())
    data = b"".join(uncompressed(file) for file in files)
    return {secret for secret in SECRETS if secret.encode() in data}


def uncompressed(file: Path) -> bytes:
    if file.suffix != ".parquet":
        return file.read_bytes()
    table = pq.read_table(file)
    return (str(table.to_pydict()) + str(table.schema)).encode() + file.read_bytes()[-4096:]


def analyzed(path: Path) -> Analysis:
    return analyze_trace(open_trace(path, OpenOptions(use_cache=False)))


def test_fixture_holds_every_secret(export: Path) -> None:
    assert secrets_in(export) == set(SECRETS)


def test_copy_holds_no_secret_anywhere_in_the_file(export: Path, tmp_path: Path) -> None:
    result = scrub(export, tmp_path / "clean.sqlite")
    assert secrets_in(tmp_path / "clean.sqlite") == set()
    assert {"ProcessStreams", "PROCESSES"} <= set(result.dropped)
    assert result.changed_texts > 0


def test_copy_gives_the_same_analysis(export: Path, tmp_path: Path) -> None:
    scrub(export, tmp_path / "clean.sqlite")
    before, after = analyzed(export), analyzed(tmp_path / "clean.sqlite")
    assert after.devices == before.devices
    assert after.checks == before.checks
    assert [(f.wait, f.wait_ns, f.recoverable_ns) for f in after.findings] == [
        (f.wait, f.wait_ns, f.recoverable_ns) for f in before.findings
    ]
    assert after.findings
    assert after.capture.collected == before.capture.collected


def test_paths_and_people_leave_the_text_of_ranges(export: Path, tmp_path: Path) -> None:
    scrub(export, tmp_path / "clean.sqlite")
    with closing(sqlite3.connect(tmp_path / "clean.sqlite")) as database:
        texts = {row[0] for row in database.execute("SELECT text FROM NVTX_EVENTS WHERE rowid % 7 = 3")}
        kept = dict(database.execute("SELECT name, value FROM TARGET_INFO_SYSTEM_ENV"))
        hidden = database.execute("SELECT count(*) FROM NVTX_EVENTS WHERE typeof(endGlobalTid) = 'text'").fetchone()
    assert texts == {"load batch.bin"}
    assert kept == {"NvDriverVersion": "580.159"}
    assert hidden == (0,)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_folder_is_scrubbed_the_same_way(export: Path, tmp_path: Path, suffix: str) -> None:
    folder = folder_of(export, tmp_path / "full", suffix)
    assert secrets_in(folder) >= {"hunter2-token-value", "marie.curie"}
    scrub(folder, tmp_path / "clean")
    assert secrets_in(tmp_path / "clean") == set()
    assert {file.suffix for file in (tmp_path / "clean").iterdir()} == {suffix}
    before, after = analyzed(folder), analyzed(tmp_path / "clean")
    assert after.devices == before.devices
    assert after.findings


def test_source_is_not_touched_and_target_never_replaced(export: Path, tmp_path: Path) -> None:
    before = export.read_bytes()
    with pytest.raises(UsageError):
        scrub(export, export)
    scrub(export, tmp_path / "clean.sqlite")
    with pytest.raises(UsageError):
        scrub(export, tmp_path / "clean.sqlite")
    assert export.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["clean.sqlite", "full.sqlite"]


def test_report_is_refused_with_the_way_out(tmp_path: Path) -> None:
    report = tmp_path / "a.nsys-rep"
    report.write_bytes(b"NVIDIA Tegra Profiler Report 2023@4@4@54" + b"\0" * 100)
    with pytest.raises(InputError) as caught:
        scrub(report, tmp_path / "clean")
    assert "cannot be scrubbed" in str(caught.value)
    assert "nsys export --type sqlite" in str(caught.value)


def test_damaged_file_leaves_no_part_behind(export: Path, tmp_path: Path) -> None:
    data = bytearray(export.read_bytes())
    data[8192:40_000] = b"\xff" * (40_000 - 8192)
    export.write_bytes(data)
    with pytest.raises(InputError):
        scrub(export, tmp_path / "clean.sqlite")
    assert [file.name for file in tmp_path.iterdir()] == ["full.sqlite"]


def test_command_says_what_it_did(export: Path, tmp_path: Path) -> None:
    ran = CliRunner().invoke(command, [str(export), "-o", str(tmp_path / "clean.sqlite")])
    assert ran.exit_code == 0
    assert "left behind" in ran.output
    assert (tmp_path / "clean.sqlite").is_file()


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("/home/marie/run/train.py:12", "train.py:12"),
        ("open /data/set/a.bin now", "open a.bin now"),
        ("C:\\Users\\marie\\train.py", "train.py"),
        ("file:///srv/x/y.h5", "y.h5"),
        ("~/secret/notes.txt", "notes.txt"),
        ("[lambda() at /build/src/k.cu:33]", "[lambda() at k.cu:33]"),
        ("forward/layer1/attn", "forward/layer1/attn"),
        ("a / b", "a / b"),
        ("void f<int>(float*)", "void f<int>(float*)"),
        ("cudaLaunchKernel", "cudaLaunchKernel"),
        ("by marie on node-7", "by <removed> on <removed>"),
        ("mariechain_kernel", "mariechain_kernel"),
        ("", ""),
    ],
)
def test_text_keeps_its_meaning_without_its_author(text: str, clean: str) -> None:
    assert Cleaner(Identity(("node-7", "marie")))(text) == clean


def test_what_no_list_names_stays_behind() -> None:
    assert not keeps_table("A_TABLE_OF_THE_FUTURE")
    assert not keeps_text("NVTX_EVENTS", "jsonText")
    assert not keeps_text("CUPTI_ACTIVITY_KIND_KERNEL", "sourcePath")
    assert keeps_text("ENUM_CUDA_MEM_KIND", "label")
