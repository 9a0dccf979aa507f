"""The page decoder against SQLite itself: the same values, or none at all."""

from __future__ import annotations

import math
import random
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallscope.ingest import sqlite_pages
from stallscope.ingest.limits import TEXT_BYTES
from stallscope.ingest.nsys_source import BOUNDS, Kind
from stallscope.ingest.sqlite_library import library
from stallscope.ingest.sqlite_pages import SqlitePages

needs_library = pytest.mark.skipif(library() is None, reason="the page decoder was not compiled (no C compiler)")

integers = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, -1, 127, 128, -(2**47), 2**23])
)
texts = st.one_of(st.none(), st.text(max_size=40), st.sampled_from(["", "step", "a\0b", "\u00e9" * 300]))
rows = st.lists(st.tuples(integers, integers, texts), max_size=60)
numbers: tuple[Kind, ...] = ("int", "zero", "size", "int32", "key")

Rows = list[tuple[object, ...]]


def write(path: Path, page_bytes: int, content: Rows, *, blob: int = 0, encoding: str = "UTF-8") -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA encoding='{encoding}'")
        db.execute(f"PRAGMA page_size={page_bytes}")
        db.execute("CREATE TABLE t (a INT, filler BLOB, b BIGINT, note TEXT, key INTEGER PRIMARY KEY)")
        db.executemany(
            "INSERT INTO t (a, b, note, filler) VALUES (?, ?, CAST(? AS TEXT), zeroblob(?))",
            [(*r, blob) for r in content],
        )
        db.commit()


def decoded(path: Path, kinds: Mapping[str, Kind]) -> Rows | None:
    with closing(sqlite3.connect(path.as_uri() + "?mode=ro&immutable=1", uri=True)) as connection:
        pages = SqlitePages(path, connection)
        try:
            found = pages.rows("t", kinds)
        finally:
            pages.close()
    return None if found is None else found.records(*kinds)


def queried(path: Path, kinds: Mapping[str, Kind]) -> Rows:
    def wanted(name: str, kind: Kind) -> str:
        if kind in {"name", "text"}:
            return f"CAST(substr(coalesce({name}, ''), 1, {TEXT_BYTES}) AS BLOB)"
        return f"CAST({name} AS REAL)" if kind == "float" else name

    def shown(value: object, kind: Kind) -> object:
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        if kind in {"zero", *BOUNDS}:
            low, high = BOUNDS.get(kind, (-(1 << 63), 1 << 63))
            return min(max(int(str(value or 0)), low), high)
        return value

    columns = ", ".join(wanted(name, kind) for name, kind in kinds.items())
    with closing(sqlite3.connect(path.as_uri() + "?mode=ro&immutable=1", uri=True)) as connection:
        every = connection.execute(f"SELECT {columns} FROM t ORDER BY rowid").fetchall()  # noqa: S608
    return [tuple(map(shown, row, kinds.values())) for row in every]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@needs_library
@settings(max_examples=50)
@given(rows, st.sampled_from([512, 1024, 4096, 65536]), st.sampled_from([0, 100, 700, 9000]), st.sampled_from(numbers))
def test_any_values_come_back_as_sqlite_reads_them(
    folder: Path, content: Rows, page_bytes: int, blob: int, kind: Kind
) -> None:
    path = folder / "any.sqlite"
    write(path, page_bytes, content, blob=blob)
    wanted: list[dict[str, Kind]] = [
        {"a": kind, "b": "int"},
        {"note": "name", "b": kind, "a": "key", "key": "int"},
        {"key": kind},
        {"note": "text"},
    ]
    for kinds in wanted:
        assert decoded(path, kinds) == queried(path, kinds)


@needs_library
@pytest.mark.parametrize("step", [1, 3])
def test_a_deep_tree_read_by_several_threads_keeps_its_order(tmp_path: Path, step: int) -> None:
    """With a step of 3 rowids are missing, so the keys between the leaves do not tell the number of rows."""
    path = tmp_path / "deep.sqlite"
    write(path, 512, [(i, -i, f"name {i % 700}") for i in range(60_000)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM t WHERE key % ? != 0", (step,))
        db.commit()
    kinds: dict[str, Kind] = {"b": "int", "a": "zero", "note": "name", "key": "int"}
    found = decoded(path, kinds)
    assert found == queried(path, kinds)
    assert found is not None
    assert len(found) == 60_000 // step


@needs_library
def test_real_numbers_come_back_where_they_are_wanted(tmp_path: Path) -> None:
    path = tmp_path / "real.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (a REAL)")
        db.executemany("INSERT INTO t VALUES (?)", [(1.5,), (2.0,), (None,), (-1e300,), (3,)])
        db.commit()
    assert decoded(path, {"a": "float"}) == [(1.5,), (2.0,), (None,), (-1e300,), (3.0,)]
    assert decoded(path, {"a": "int"}) is None


@needs_library
def test_what_is_no_number_is_null_as_in_sqlite(tmp_path: Path) -> None:
    """SQL cannot store a NaN, but a file can hold one."""
    path = tmp_path / "nan.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (a REAL)")
        db.execute("INSERT INTO t VALUES (1.5)")
        db.commit()
    path.write_bytes(path.read_bytes().replace(struct.pack(">d", 1.5), struct.pack(">d", math.nan)))
    kinds: dict[str, Kind] = {"a": "float"}
    assert decoded(path, kinds) == queried(path, kinds) == [(None,)]


@needs_library
def test_bytes_that_are_not_utf8_are_replaced_and_equal_texts_share_a_code(tmp_path: Path) -> None:
    path = tmp_path / "bytes.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (note TEXT)")
        db.executemany("INSERT INTO t VALUES (CAST(? AS TEXT))", [(b"a\xff",), (b"a\xfe",), (b"a",), (None,)])
        db.commit()
    assert decoded(path, {"note": "name"}) == [("a\ufffd",), ("a\ufffd",), ("a",), ("",)]


@needs_library
def test_more_keys_than_pay_are_left_to_sqlite_and_more_names_are_not(tmp_path: Path) -> None:
    path = tmp_path / "keys.sqlite"
    write(path, 4096, [(i, i % 65_536, f"call {i}") for i in range(70_000)])
    assert decoded(path, {"a": "key"}) is None
    for kinds in ({"b": "key"}, {"note": "name"}):
        assert decoded(path, kinds) == queried(path, kinds)


@needs_library
def test_texts_that_need_sqlite_are_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "texts.sqlite"
    write(path, 4096, [(1, 2, "x" * (TEXT_BYTES + 1))])
    assert decoded(path, {"note": "name"}) is None
    write(path, 4096, [(1, 2, "x" * TEXT_BYTES)])
    assert decoded(path, {"note": "name"}) == [("x" * TEXT_BYTES,)]
    write(path, 4096, [(1, 2, "wide")], encoding="UTF-16")
    assert decoded(path, {"note": "name"}) is None
    assert decoded(path, {"a": "int"}) == [(1,)]
    write(path, 4096, [(1, 2, "x")], blob=4)
    assert decoded(path, {"filler": "name"}) is None
    assert decoded(path, {"a": "name"}) is None
    assert decoded(path, {"key": "name"}) is None


@needs_library
def test_a_column_added_later_is_null_in_old_rows(tmp_path: Path) -> None:
    path = tmp_path / "altered.sqlite"
    write(path, 4096, [(1, 2, None)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE t ADD COLUMN late INT")
        db.execute("ALTER TABLE t ADD COLUMN words TEXT")
        db.execute("INSERT INTO t (a, late, words) VALUES (5, 6, 'so')")
        db.commit()
    assert decoded(path, {"late": "int", "a": "int"}) == [(None, 1), (6, 5)]
    assert decoded(path, {"words": "name", "late": "key"}) == [("", None), ("so", 6)]


@needs_library
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (a INT PRIMARY KEY, b INT) WITHOUT ROWID",
        "CREATE TABLE t (a INT DEFAULT 7, b INT)",
    ],
)
def test_tables_that_need_sqlite_are_left_to_it(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as db:
        db.execute(sql)
        db.execute("INSERT INTO t VALUES (1, 2)")
        db.commit()
    assert decoded(path, {"a": "int", "b": "int"}) is None


@needs_library
@pytest.mark.parametrize("value", [1.5, "text", b"blob"])
def test_a_value_that_is_no_integer_is_left_to_sqlite(tmp_path: Path, value: object) -> None:
    path = tmp_path / "typed.sqlite"
    write(path, 4096, [(1, 2, None), (value, 3, None)])
    assert decoded(path, {"a": "int"}) is None
    assert decoded(path, {"a": "key"}) is None
    assert decoded(path, {"b": "int"}) is not None


@needs_library
def test_a_write_ahead_log_database_is_left_to_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "wal.sqlite"
    write(path, 4096, [(1, 2, None)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
    assert decoded(path, {"a": "int"}) is None


@needs_library
def test_damaged_pages_never_crash_and_never_give_other_values_than_sqlite(tmp_path: Path) -> None:
    """500 random mutations of a small file; the full campaign is benchmarks/pages_fuzz.py."""
    path = tmp_path / "whole.sqlite"
    write(path, 512, [(i * 1_000_003, i, "x" * (i % 50)) for i in range(400)], blob=700)
    whole, damaged, seed = path.read_bytes(), tmp_path / "damaged.sqlite", random.Random(1)  # noqa: S311
    kinds: dict[str, Kind] = {"a": "key", "b": "int", "note": "name"}
    for _ in range(500):
        bytes_ = bytearray(whole)
        for _ in range(seed.randint(1, 4)):
            bytes_[seed.randrange(100, len(bytes_))] = seed.randrange(256)
        damaged.write_bytes(bytes_)
        try:
            found = decoded(damaged, kinds)
            expected = queried(damaged, kinds)
        except (sqlite3.DatabaseError, UnicodeDecodeError, KeyError):
            continue
        if found is not None and len(found) == len(expected):
            assert sorted(found, key=str) == sorted(expected, key=str)


def test_without_the_library_sqlite_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plain.sqlite"
    write(path, 4096, [(1, 2, None)])
    monkeypatch.setattr(sqlite_pages, "library", lambda: None)
    assert decoded(path, {"a": "int"}) is None


@needs_library
def test_announced_tables_are_decoded_before_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_pages, "_LARGE_BYTES", 0)
    path = tmp_path / "a.sqlite"
    write(path, 1024, [(k, -k, f"text {k % 3}") for k in range(500)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE other (a INT)")
        db.executemany("INSERT INTO other VALUES (?)", [(k,) for k in range(9)])
        db.commit()
    wanted: dict[str, Kind] = {"a": "int", "note": "name"}
    with closing(sqlite3.connect(path)) as connection, closing(SqlitePages(path, connection)) as pages:
        pages.announce("t", wanted)
        first = pages.rows("other", {"a": "int"})
        assert first is not None
        assert first.values("a").tolist() == list(range(9))
        monkeypatch.setattr(pages, "_layout", lambda *_: pytest.fail("read when asked for"))
        found = pages.rows("t", wanted)
        assert found is not None
        assert found.records("a", "note") == [(k, f"text {k % 3}") for k in range(500)]


@needs_library
def test_what_was_announced_otherwise_or_not_at_all_is_read_when_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite"
    write(path, 1024, [(k, -k, None) for k in range(50)])
    with closing(sqlite3.connect(path)) as connection:
        for large in (0, 1 << 40):  # ahead with other columns; too small a file for it
            monkeypatch.setattr(sqlite_pages, "_LARGE_BYTES", large)
            with closing(SqlitePages(path, connection)) as pages:
                pages.announce("t", {"a": "int"})
                assert pages.rows("absent", {"a": "int"}) is None
                found = pages.rows("t", {"b": "int"})
                assert found is not None
                assert found.values("b").tolist() == [-k for k in range(50)]
        with closing(SqlitePages(path, connection)) as pages:
            pages.announce("t", {"a": "int"})
            pages.rows("absent", {"a": "int"})  # nobody asks for t: closing waits for it


@needs_library
def test_the_campaign_of_mutated_files_runs_and_finds_no_other_values(repository: Path) -> None:
    command = [sys.executable, str(repository / "benchmarks" / "pages_fuzz.py"), "300", "5"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    counts = {words[1]: int(words[0]) for line in found.splitlines()[1:] if len(words := line.split(maxsplit=1)) == 2}
    assert counts["equal"] > 100
    assert not any(what.startswith("different") for what in counts)
