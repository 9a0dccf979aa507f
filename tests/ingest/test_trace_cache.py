"""The cache: the same trace comes back, damage is repaired, and it is never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlite_build import CUDA_AND_NVTX, ExportBuilder, collected

from stallscope.ingest import cache as caching
from stallscope.ingest.cache import TraceCache, cache_folder
from stallscope.ingest.content_hash import content_sha256
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model import events
from stallscope.model.trace import Trace


@pytest.fixture
def export(tmp_path: Path) -> Path:
    build = ExportBuilder(capture=CUDA_AND_NVTX).kernel(10, 20, "naïve\n核").call(1, 5, "cudaLaunchKernel_v7000")
    build.kernel(0, 0).range(1, 30, "step").add("TARGET_INFO_GPU", vmId=1 << 48, id=0, name="G", cuDevice=0, smCount=3)
    path = build.write(tmp_path / "t.sqlite")
    os.utime(path, (1_000_000, 1_000_000))
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for every trace that was read from its own file."""
    from stallscope.ingest import nsys_trace

    done: list[str] = []
    real = nsys_trace.read_trace

    def counting(*arguments: object, **named: object) -> Trace:
        done.append("read")
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(nsys_trace, "read_trace", counting)
    return done


def options(tmp_path: Path) -> OpenOptions:
    return OpenOptions(cache_dir=str(tmp_path / "cache"))


def same(a: Trace, b: Trace) -> bool:
    tables = a.tables.keys() == b.tables.keys() and all(a.tables[k].frame.equals(b.tables[k].frame) for k in a.tables)
    rest = ("source", "devices", "processes", "threads", "capture", "origin_ns")
    return tables and tuple(a.names) == tuple(b.names) and all(getattr(a, n) == getattr(b, n) for n in rest)


def test_a_trace_comes_back_whole(export: Path, tmp_path: Path, reads: list[str]) -> None:
    first = open_trace(export, options(tmp_path))
    again = open_trace(export, options(tmp_path))
    assert reads == ["read"]
    assert same(first, again)
    assert [note.id for note in again.capture.notes] == ["env.data_quality"]


def test_the_same_content_under_another_name(export: Path, tmp_path: Path, reads: list[str]) -> None:
    open_trace(export, options(tmp_path))
    moved = export.rename(tmp_path / "moved.sqlite")
    assert open_trace(moved, options(tmp_path)).source.name == "moved.sqlite"
    assert reads == ["read"]


def test_changed_content_is_read_again_even_with_equal_size_and_time(
    export: Path, tmp_path: Path, reads: list[str]
) -> None:
    open_trace(export, options(tmp_path))
    build = ExportBuilder(capture=CUDA_AND_NVTX).kernel(11, 21, "naïve\n核").call(1, 5, "cudaLaunchKernel_v7000")
    build.kernel(0, 0).range(1, 30, "step").add("TARGET_INFO_GPU", vmId=1 << 48, id=0, name="G", cuDevice=0, smCount=3)
    build.write(export)
    os.utime(export, (1_000_001, 1_000_001))
    assert collected(open_trace(export, options(tmp_path)), events.Kernels).start_ns.tolist() == [11]
    assert len(reads) == 2


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove", "header", "foreign"])
def test_a_damaged_entry_is_rebuilt(damage: str, export: Path, tmp_path: Path, reads: list[str]) -> None:
    first = open_trace(export, options(tmp_path))
    (entry,) = (tmp_path / "cache" / "tables").iterdir()
    file = entry / ("trace.json" if damage == "header" else "Kernels.parquet")
    content = bytearray(file.read_bytes())
    if damage == "remove":
        file.unlink()
    elif damage == "foreign":
        file.write_bytes((entry / "NvtxRanges.parquet").read_bytes())
    else:
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content if damage == "flip" else content[: len(content) // 2])
    assert same(first, open_trace(export, options(tmp_path)))
    assert len(reads) == 2
    open_trace(export, options(tmp_path))
    assert len(reads) == 2


def test_another_reader_reads_again(
    export: Path, tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_trace(export, options(tmp_path))
    monkeypatch.setattr(caching, "reader_version", lambda: "next")
    open_trace(export, options(tmp_path))
    assert len(reads) == 2


def test_a_cache_that_cannot_be_written_is_no_error(export: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "cache"
    blocked.write_text("a file where the folder should be")
    assert len(collected(open_trace(export, options(tmp_path)), events.Kernels)) == 1


def test_the_least_recently_used_go_first(export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = open_trace(export, options(tmp_path))
    cache = TraceCache(tmp_path / "cache")
    tables = tmp_path / "cache" / "tables"
    for age, key in enumerate(("old", "older")):
        cache.store(key, trace)
        os.utime(tables / f"{key}-{caching.reader_version()}", (1000 - age, 1000 - age))
    monkeypatch.setattr(caching, "LIMIT_BYTES", 1)
    cache.store("new", trace)
    assert [entry.name.split("-")[0] for entry in tables.iterdir()] == ["new"]


def test_hashes_are_remembered_but_not_of_files_that_just_changed(export: Path, tmp_path: Path) -> None:
    cache = TraceCache(tmp_path / "cache")
    assert cache.sha256([export]) == content_sha256([export])
    assert len(list((tmp_path / "cache" / "hashes").iterdir())) == 1
    fresh = tmp_path / "fresh"
    fresh.write_bytes(b"1")
    assert cache.sha256([fresh]) == "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
    assert len(list((tmp_path / "cache" / "hashes").iterdir())) == 1


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STALLSCOPE_CACHE_DIR", str(tmp_path / "by-variable"))
    assert cache_folder("/chosen") == Path("/chosen")
    assert cache_folder() == tmp_path / "by-variable"
    monkeypatch.delenv("STALLSCOPE_CACHE_DIR")
    assert cache_folder().name == "stallscope"


def test_two_writers_leave_one_whole_entry(export: Path, tmp_path: Path) -> None:
    trace = open_trace(export, options(tmp_path))
    cache = TraceCache(tmp_path / "cache")
    cache.store("twice", trace)
    cache.store("twice", trace)
    kept = cache.load("twice")
    assert kept is not None
    assert same(kept, trace)
    assert [p.name for p in (tmp_path / "cache" / "tables").glob(".*")] == []
