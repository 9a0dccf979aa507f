"""SQLite inputs: hostile, damaged, unfinished or foreign files are refused; a good one is never touched."""

from __future__ import annotations

import os
import shutil
import sqlite3
from itertools import pairwise
from pathlib import Path

import pytest
from sqlite_build import FRESH, ExportBuilder, collected

from stallscope.errors import InputError
from stallscope.ingest.nsys_arrow_query import row_ranges
from stallscope.ingest.open import open_trace
from stallscope.model import events


@pytest.fixture
def export(tmp_path: Path) -> Path:
    return ExportBuilder().kernel(10, 20).call(1, 5, "cudaLaunchKernel_v7000").write(tmp_path / "t.sqlite")


def alter(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("name", ["a ?mode=rwc#x%41.sqlite", "white space.db", "no-suffix", "ümlaut 核.txt"])
def test_any_file_name_is_read_and_nothing_appears_beside_it(export: Path, name: str, tmp_path: Path) -> None:
    folder = tmp_path / "only"
    folder.mkdir()
    path = folder / name
    shutil.copyfile(export, path)
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert len(collected(open_trace(path, FRESH), events.Kernels)) == 1
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [p.name for p in folder.iterdir()] == [name]


def test_a_text_without_bytes_that_is_no_text_is_empty(export: Path) -> None:
    alter(export, "UPDATE META_DATA_EXPORT SET name = x'' WHERE rowid = (SELECT max(rowid) FROM META_DATA_EXPORT)")
    assert len(collected(open_trace(export, FRESH), events.Kernels)) == 1


def test_a_read_only_file_in_a_read_only_folder_is_read(export: Path, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = shutil.copyfile(export, folder / "t.sqlite")
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert len(collected(open_trace(path, FRESH), events.Kernels)) == 1
    finally:
        folder.chmod(0o755)


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (
            (
                "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME TO x",
                "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM x",
            ),
            "a view",
        ),
        (("CREATE VIEW ENUM_CUPTI_SYNC_TYPE2 AS SELECT 1", "CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start"), "a view"),
        (
            ("CREATE TRIGGER t AFTER INSERT ON CUPTI_ACTIVITY_KIND_RUNTIME BEGIN SELECT 1; END",),
            "watched by a trigger",
        ),
        (("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN extra AS (start * 2)",), "computed columns"),
        (("CREATE VIRTUAL TABLE OSRT_API USING fts5(start)",), "virtual table"),
    ],
)
def test_tables_that_nsys_never_writes_are_refused(export: Path, statements: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        open_trace(alter(export, *statements), FRESH)
    assert refused.value.file == "t.sqlite"
    assert "nsys export" in str(refused.value)


def test_views_that_nobody_reads_do_no_harm(export: Path) -> None:
    alter(export, "CREATE VIEW my_own AS SELECT 1", "CREATE TABLE my_table (a)")
    assert len(collected(open_trace(export, FRESH), events.Kernels)) == 1


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_database_in_use_is_refused(export: Path, suffix: str) -> None:
    export.with_name(export.name + suffix).write_bytes(b"pending pages")
    with pytest.raises(InputError, match=r"close the program|another program") as refused:
        open_trace(export, FRESH)
    assert suffix in str(refused.value)


@pytest.mark.parametrize("pragma", ["journal_mode=WAL", "page_size=65536", "page_size=512"])
def test_other_layouts_of_sqlite_files_are_read(export: Path, pragma: str) -> None:
    alter(export, f"PRAGMA {pragma}", "VACUUM")
    before = {p.name for p in export.parent.iterdir()}
    assert len(collected(open_trace(export, FRESH), events.Kernels)) == 1
    assert {p.name for p in export.parent.iterdir()} == before


def test_the_log_beside_the_target_of_a_link_counts(export: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.sqlite"
    link.symlink_to(export)
    assert len(collected(open_trace(link, FRESH), events.Kernels)) == 1
    export.with_name(export.name + "-wal").write_bytes(b"pending")
    with pytest.raises(InputError, match="another program") as refused:
        open_trace(link, FRESH)
    assert refused.value.file == "link.sqlite"


@pytest.mark.parametrize("kept", [16, 50, 99, 100, 4096, 0.5, 0.99])
def test_truncated_files_are_damaged_and_never_healthy(export: Path, kept: float) -> None:
    whole = export.read_bytes()
    size = int(len(whole) * kept) if kept < 1 else int(kept)
    export.write_bytes(whole[:size])
    with pytest.raises(InputError) as refused:
        open_trace(export, FRESH)
    assert "t.sqlite" in str(refused.value)
    assert "nsys export" in str(refused.value)


@pytest.mark.parametrize("offset", [100, 105, 2000, 4096, 4100, 9000, 12288, 20480])
def test_overwritten_pages_never_crash(export: Path, offset: int) -> None:
    content = bytearray(export.read_bytes())
    content[offset : offset + 600] = bytes(range(250)) * 3
    export.write_bytes(content[: export.stat().st_size])
    try:
        trace = open_trace(export, FRESH)
    except InputError as refused:
        assert refused.file == "t.sqlite"  # noqa: PT017 - either outcome is right, a crash is not
    else:
        assert trace.source.format == "nsys-sqlite"


def test_a_zeroed_header_of_an_interrupted_export_is_no_trace(export: Path) -> None:
    export.write_bytes(bytes(100) + export.read_bytes()[100:])
    with pytest.raises(InputError, match="interrupted"):
        open_trace(export, FRESH)


def test_an_export_without_strings_is_read_without_names(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(10, 20)
    del build.rows["StringIds"]
    trace = open_trace(build.write(tmp_path / "t.sqlite"), FRESH)
    assert trace.names[int(collected(trace, events.Kernels).name[0])] == ""


@pytest.mark.parametrize("statement", ["CREATE TABLE photos (id)", "CREATE TABLE StringIds (id, value)"])
def test_foreign_databases_are_refused(statement: str, tmp_path: Path) -> None:
    path = alter(tmp_path / "photos.db", statement)
    with pytest.raises(InputError, match="not one that nsys export wrote"):
        open_trace(path, FRESH)


def test_a_column_of_the_wrong_type_is_damage(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(10, 20)
    build.rows["CUPTI_ACTIVITY_KIND_KERNEL"][0]["start"] = b"\x00\xff"
    trace = open_trace(build.write(tmp_path / "t.sqlite"), FRESH)
    assert len(collected(trace, events.Kernels)) == 0
    assert trace.capture.notes[0].id in {"env.no_gpu_activity", "env.data_quality"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_read_permission(export: Path) -> None:
    export.chmod(0o000)
    with pytest.raises(InputError, match="permission"):
        open_trace(export, FRESH)


def test_an_operating_system_that_refuses_is_explained(export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="Permission denied") as refused:
        open_trace(export, FRESH)
    assert "permissions" in str(refused.value)


@pytest.mark.parametrize(("first", "last"), [(1, 1), (1, 3_000_000), (-5, 900_000), (7, 10**15)])
def test_row_ranges_cover_every_row_once(first: int, last: int) -> None:
    ranges = row_ranges(first, last)
    assert (ranges[0][0], ranges[-1][1]) == (first, last)
    assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges))


def test_big_tables_read_in_parts_keep_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stallscope.ingest.nsys_arrow_query._ROWS_A_THREAD", 10)
    monkeypatch.setattr("stallscope.ingest.nsys_arrow_query._cores", lambda: 3)
    build = ExportBuilder()
    for start in range(1, 101):
        build.kernel(start, start + 1, correlationId=start)
    kernels = collected(open_trace(build.write(tmp_path / "t.sqlite"), FRESH), events.Kernels)
    assert kernels.correlation.tolist() == list(range(1, 101))
