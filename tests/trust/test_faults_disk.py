"""Full and read-only disks: the analysis goes on without the cache, or says why not; nothing half-written stays."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import polars as pl
import pytest
from stand_ins import REPORT, TRACE, fake_nsys, full, mounted, read_only

from stallscope.errors import InputError
from stallscope.ingest import cache as caching
from stallscope.ingest.cache import TraceCache
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.events import Kernels


def options(cache: Path, **more: str) -> OpenOptions:
    return OpenOptions(cache_dir=str(cache), **more)  # type: ignore[arg-type]


def left(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def works(cache: Path) -> bool:
    """The next run: it reads, keeps, and reads again."""
    first, again = (open_trace(TRACE, options(cache)) for _ in range(2))
    return (
        first.table(Kernels) is not None and again.source == first.source and any("Kernels" in f for f in left(cache))
    )


def polars_full(*_: object, **__: object) -> None:
    raise pl.exceptions.ComputeError("No space left on device (os error 28)")


@pytest.mark.parametrize("fault", [full, read_only, polars_full])
def test_a_cache_that_fills_up_while_it_is_written(
    fault: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(pl.DataFrame, "write_parquet", fault)
        assert open_trace(TRACE, options(tmp_path / "cache")).table(Kernels) is not None
    assert not [name for name in left(tmp_path / "cache") if not name.startswith("hashes/")]
    assert works(tmp_path / "cache")


def test_a_cache_entry_that_cannot_be_moved_into_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(Path, "rename", full)
        broken.setattr(Path, "replace", full)
        assert open_trace(TRACE, options(tmp_path / "cache")).table(Kernels) is not None
    assert left(tmp_path / "cache") == []
    assert works(tmp_path / "cache")


def test_a_real_disk_that_is_too_small(tmp_path: Path) -> None:
    with mounted(tmp_path / "small", "size=60k") as cache:
        assert open_trace(TRACE, options(cache)).table(Kernels) is not None
        assert not [name for name in left(cache) if not name.startswith("hashes/")]


def test_a_real_disk_that_is_read_only(tmp_path: Path) -> None:
    with mounted(tmp_path / "locked", "size=4m") as place:
        shutil.copyfile(TRACE, place / "t.sqlite")
        assert os.system(f"mount -o remount,ro '{place}'") == 0  # noqa: S605
        assert open_trace(place / "t.sqlite", options(place / "cache")).table(Kernels) is not None
        assert left(place) == ["t.sqlite"]


def test_a_disk_that_fills_up_while_nsys_exports(tmp_path: Path) -> None:
    report = tmp_path / "a.nsys-rep"
    report.write_bytes(REPORT)
    nsys = fake_nsys(
        tmp_path / "nsys", 'head -c 5000 /dev/zero > "$OUT"; echo "SQLite: database or disk is full"; exit 1'
    )
    with pytest.raises(InputError, match="disk is full") as refused:
        open_trace(report, options(tmp_path / "cache", nsys=str(nsys)))
    assert "STALLSCOPE_CACHE_DIR" in str(refused.value)
    assert left(tmp_path / "cache") == [name for name in left(tmp_path / "cache") if name.startswith("hashes/")]
    fake_nsys(nsys, f'cp "{TRACE}" "$OUT"')
    assert open_trace(report, options(tmp_path / "cache", nsys=str(nsys))).table(Kernels) is not None


def test_an_export_that_cannot_be_moved_into_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "a.nsys-rep"
    report.write_bytes(REPORT)
    nsys = fake_nsys(tmp_path / "nsys", f'cp "{TRACE}" "$OUT"')
    with monkeypatch.context() as broken:
        broken.setattr(Path, "replace", full)
        with pytest.raises(InputError, match="disk is full") as refused:
            open_trace(report, options(tmp_path / "cache", nsys=str(nsys)))
    assert "TMPDIR" in str(refused.value)
    assert left(tmp_path / "cache") == []
    assert open_trace(report, options(tmp_path / "cache", nsys=str(nsys))).table(Kernels) is not None


def test_what_a_killed_process_left_is_removed_in_time(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    open_trace(TRACE, options(cache))
    stale = cache / "tables" / ".part-killed"
    stale.mkdir()
    (stale / "Kernels.parquet").write_bytes(b"half")
    export = cache / "exports" / ".4711.part.x.sqlite"
    export.parent.mkdir(exist_ok=True)
    export.write_bytes(b"half")
    fresh = cache / "tables" / ".part-running"
    fresh.mkdir()
    old = time.time() - caching.STALE_S - 60
    for path in (stale, export):
        os.utime(path, (old, old))
    TraceCache(cache).store("another", open_trace(TRACE, options(cache)))
    assert not stale.exists()
    assert not export.exists()
    assert fresh.exists()


def test_an_older_cache_is_neither_trusted_nor_in_the_way(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    trace = open_trace(TRACE, options(cache))
    (entry,) = (cache / "tables").iterdir()
    key = entry.name.partition("-")[0]
    entry.rename(entry.with_name(f"{key}-0000000000000000"))
    for name in ("trace.json", "names.parquet"):
        (cache / "tables" / f"{key}-0000000000000000" / name).write_bytes(b"an older layout")
    (cache / "index.db").write_bytes(b"a file of another version")
    again = open_trace(TRACE, options(cache))
    assert again.source == trace.source
    assert len(list((cache / "tables").iterdir())) == 2


@pytest.mark.parametrize("content", [b"", b"x", b"z" * 64, b"\xff" * 64])
def test_a_damaged_hash_file_is_no_hash(content: bytes, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    open_trace(TRACE, options(cache))
    for file in (cache / "hashes").iterdir():
        file.write_bytes(content)
    found = open_trace(TRACE, options(cache))
    assert len(found.source.sha256) == 64
    assert set(found.source.sha256) <= set("0123456789abcdef")


@pytest.mark.parametrize("year", [1971, 2099])
def test_a_clock_far_off(year: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = (year - 1970) * 365.25 * 86_400
    monkeypatch.setattr(time, "time", lambda: now)
    path = shutil.copyfile(TRACE, tmp_path / "t.sqlite")
    os.utime(path, (4_000_000_000, 4_000_000_000))
    first = open_trace(path, options(tmp_path / "cache"))
    assert open_trace(path, options(tmp_path / "cache")).source == first.source
