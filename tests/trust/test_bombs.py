"""Small files that claim to be huge: refused, quickly, without the memory they ask for."""

from __future__ import annotations

import gzip
import resource
import sqlite3
import struct
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlite_build import FRESH, ExportBuilder

from stallscope.errors import InputError
from stallscope.ingest import kineto_stream, sqlite_pages
from stallscope.ingest.open import open_trace

MOST_S = 5.0
MOST_GROWTH_BYTES = 900 << 20
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


@contextmanager
def bounded() -> Iterator[None]:
    """Processor time and peak memory of the block."""
    began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - began < MOST_S
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_GROWTH_BYTES


def refuse(path: Path) -> str:
    with bounded(), pytest.raises(InputError) as refused:
        open_trace(path, FRESH)
    assert refused.value.file
    return str(refused.value)


def export(path: Path, rows: int = 20_000, text: str = "x") -> Path:
    build = ExportBuilder()
    for at in range(rows):
        build.kernel(at * 10 + 1, at * 10 + 5).range(at * 10 + 1, at * 10 + 9, text)
    return build.write(path)


def page_of(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0])


def widen(path: Path, root: int) -> None:
    """A tree in which every level points again and again at the next: a few pages claim billions of rows."""
    data, size = bytearray(path.read_bytes()), 4096
    pages = [root]
    leaf = int.from_bytes(data[(root - 1) * size + 8 : (root - 1) * size + 12], "big")
    for _ in range(4):
        data += bytes(size)
        pages.append(len(data) // size)
    for page, child in zip(pages, [*pages[1:], leaf], strict=True):
        cells = b"".join(struct.pack(">IB", child, 1 + i % 100) for i in range(300))
        at = size - len(cells)
        pointers = struct.pack(">300H", *(at + 5 * i for i in range(300)))
        header = struct.pack(">BHHHBI", 5, 0, 300, at, 0, child)
        data[(page - 1) * size : page * size] = (header + pointers).ljust(at, b"\0") + cells
    data[28:32] = struct.pack(">I", len(data) // size)
    path.write_bytes(data)


@pytest.mark.parametrize("table", [KERNELS, "NVTX_EVENTS", "StringIds"])
@pytest.mark.parametrize("decoder", ["compiled", "none"])
def test_a_tree_that_leads_to_the_same_pages_again_and_again(
    table: str, decoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if decoder == "none":
        monkeypatch.setattr(sqlite_pages, "library", lambda: None)
    path = export(tmp_path / "t.sqlite", 3_000)
    if table == "StringIds":
        with closing(sqlite3.connect(path)) as database:
            database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i + 10, f"name {i}") for i in range(3_000)])
            database.commit()
    widen(path, page_of(path, table))
    assert "damaged" in refuse(path)


@pytest.mark.parametrize("decoder", ["compiled", "none"])
def test_rows_that_share_one_long_text(decoder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row's text is the same chain of overflow pages."""
    if decoder == "none":
        monkeypatch.setattr(sqlite_pages, "library", lambda: None)
    path = export(tmp_path / "t.sqlite", 10_000, "y" * 300)
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE long (text)")
        database.execute("INSERT INTO long VALUES (zeroblob(6000000))")
        database.execute("DROP TABLE NVTX_EVENTS")
        database.execute("CREATE TABLE NVTX_EVENTS (start INT, 'end' INT, eventType INT, globalTid INT, text TEXT)")
        chain = "x" * 4_000_000
        database.execute("INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 5, ?)", (chain,))
        database.commit()
    data, size, root = bytearray(path.read_bytes()), 4096, page_of(path, "NVTX_EVENTS")
    page = data[(root - 1) * size : root * size]
    cell = int.from_bytes(page[8:10], "big")
    pointers = struct.pack(">H", cell) * 1_000
    page[3:5] = struct.pack(">H", 1_000)
    page[8 : 8 + len(pointers)] = pointers
    data[(root - 1) * size : root * size] = page
    path.write_bytes(data)
    assert "damaged" in refuse(path)


def folder(tmp_path: Path, suffix: str) -> Path:
    place = tmp_path / "export"
    place.mkdir()
    strings = pa.table({"id": pa.array([1], pa.int32()), "value": ["k"]})
    if suffix == ".parquet":
        pq.write_table(strings, place / "StringIds.parquet")
    else:
        write_stream(place / "StringIds.arrow", strings, None)
    return place


def write_stream(path: Path, table: pa.Table, codec: str | None) -> None:
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)


def constant_kernels(rows: int) -> pa.Table:
    one = pa.array(np.zeros(rows, np.int64))
    return pa.table(dict.fromkeys(("start", "end", "deviceId", "globalPid", "shortName"), one))


def test_parquet_rows_that_cost_nothing(tmp_path: Path) -> None:
    place = folder(tmp_path, ".parquet")
    pq.write_table(constant_kernels(6_000_000), place / f"{KERNELS}.parquet", compression="zstd")
    assert (place / f"{KERNELS}.parquet").stat().st_size < 1 << 20
    assert "claims" in refuse(place)


def test_parquet_text_that_costs_nothing(tmp_path: Path) -> None:
    place = folder(tmp_path, ".parquet")
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 150_000, pa.int32()), pa.array(["x" * 100_000]))
    rows = pa.array(range(150_000), pa.int64())
    table = pa.table({"start": rows, "end": rows, "eventType": rows, "globalTid": rows, "text": texts})
    pq.write_table(table, place / "NVTX_EVENTS.parquet", compression="zstd")
    assert "longer than the file" in refuse(place)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_arrow_buffers_that_unfold(codec: str, tmp_path: Path) -> None:
    place = folder(tmp_path, ".arrow")
    write_stream(place / f"{KERNELS}.arrow", constant_kernels(4_000_000), codec)
    assert (place / f"{KERNELS}.arrow").stat().st_size < 1 << 20
    assert "claims" in refuse(place)


def test_a_packed_trace_of_blanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto_stream, "SPARE_BYTES", 1 << 20)
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * (20 << 20) + b"]}", 9))
    assert path.stat().st_size < 1 << 16
    assert "unpacks" in refuse(path)


def test_a_packed_trace_of_one_event_over_and_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kineto_stream, "SPARE_EVENTS", 1_000)
    path = tmp_path / "t.json.gz"
    event = b'{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":1,"pid":0,"tid":7,"args":{"device":0}},'
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + event * 100_000 + event[:-1] + b"]}", 6))
    assert "unpacks" in refuse(path)


def test_deep_nesting_is_no_recursion(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{"traceEvents": [{"args": ' + b"[" * 2_000_000 + b"]" * 2_000_000 + b"}]}")
    assert "nests deeper" in refuse(path)
