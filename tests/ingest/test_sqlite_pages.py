"""The page decoder against SQLite itself: the same numbers, or none at all."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stallscope.ingest import sqlite_pages
from stallscope.ingest.sqlite_pages import SqlitePages, library

needs_library = pytest.mark.skipif(library() is None, reason="the page decoder was not compiled (no C compiler)")

integers = st.one_of(
    st.none(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, -1, 127, 128, -(2**47), 2**23])
)
rows = st.lists(st.tuples(integers, integers, st.one_of(st.none(), st.text(max_size=40))), max_size=60)


def write(path: Path, page_bytes: int, content: list[tuple[object, ...]], *, blob: int = 0) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA page_size={page_bytes}")
        db.execute("CREATE TABLE t (a INT, filler BLOB, b BIGINT, note TEXT, key INTEGER PRIMARY KEY)")
        db.executemany(
            "INSERT INTO t (a, b, note, filler) VALUES (?, ?, ?, zeroblob(?))", [(*r, blob) for r in content]
        )
        db.commit()


def decoded(path: Path, names: list[str]) -> pl.DataFrame | None:
    with closing(sqlite3.connect(path.as_uri() + "?mode=ro&immutable=1", uri=True)) as connection:
        pages = SqlitePages(path, connection)
        try:
            return pages.integers("t", names)
        finally:
            pages.close()


def queried(path: Path, names: list[str]) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path.as_uri() + "?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(f"SELECT {', '.join(names)} FROM t ORDER BY rowid").fetchall()  # noqa: S608


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@needs_library
@settings(max_examples=50)
@given(rows, st.sampled_from([512, 1024, 4096, 65536]), st.sampled_from([0, 100, 700, 9000]))
def test_any_integers_come_back_as_sqlite_reads_them(
    folder: Path, content: list[tuple[object, ...]], page_bytes: int, blob: int
) -> None:
    path = folder / "any.sqlite"
    write(path, page_bytes, content, blob=blob)
    for names in (["a", "b"], ["b", "a", "key"], ["key"]):
        found = decoded(path, names)
        assert found is not None
        assert found.rows() == queried(path, names)


@needs_library
def test_a_deep_tree_read_by_several_threads_keeps_its_order(tmp_path: Path) -> None:
    path = tmp_path / "deep.sqlite"
    write(path, 512, [(i, -i, None) for i in range(60_000)])
    found = decoded(path, ["b", "a"])
    assert found is not None
    assert found.rows() == [(-i, i) for i in range(60_000)]


@needs_library
def test_a_column_added_later_is_null_in_old_rows(tmp_path: Path) -> None:
    path = tmp_path / "altered.sqlite"
    write(path, 4096, [(1, 2, None)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE t ADD COLUMN late INT")
        db.execute("INSERT INTO t (a, late) VALUES (5, 6)")
        db.commit()
    found = decoded(path, ["late", "a"])
    assert found is not None
    assert found.rows() == [(None, 1), (6, 5)]


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
    assert decoded(path, ["a", "b"]) is None


@needs_library
@pytest.mark.parametrize("value", [1.5, "text", b"blob"])
def test_a_value_that_is_no_integer_is_left_to_sqlite(tmp_path: Path, value: object) -> None:
    path = tmp_path / "typed.sqlite"
    write(path, 4096, [(1, 2, None), (value, 3, None)])
    assert decoded(path, ["a"]) is None
    assert decoded(path, ["b"]) is not None


@needs_library
def test_a_write_ahead_log_database_is_left_to_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "wal.sqlite"
    write(path, 4096, [(1, 2, None)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode=WAL")
    assert decoded(path, ["a"]) is None


@needs_library
def test_damaged_pages_never_crash_and_never_give_other_numbers_than_sqlite(tmp_path: Path) -> None:
    """500 random mutations of a small file; the full campaign is benchmarks/pages_fuzz.py."""
    path = tmp_path / "whole.sqlite"
    write(path, 512, [(i * 1_000_003, i, "x" * (i % 50)) for i in range(400)], blob=700)
    whole, damaged, seed = path.read_bytes(), tmp_path / "damaged.sqlite", random.Random(1)  # noqa: S311
    for _ in range(500):
        bytes_ = bytearray(whole)
        for _ in range(seed.randint(1, 4)):
            bytes_[seed.randrange(100, len(bytes_))] = seed.randrange(256)
        damaged.write_bytes(bytes_)
        try:
            found = decoded(damaged, ["a", "b"])
            expected = queried(damaged, ["a", "b"])
        except (sqlite3.DatabaseError, UnicodeDecodeError, KeyError):
            continue
        if found is not None and len(found) == len(expected):
            same = [(a, b) for a, b in expected if all(isinstance(v, int) or v is None for v in (a, b))]
            assert len(same) != len(expected) or sorted(found.rows(), key=str) == sorted(expected, key=str)


def test_without_the_library_sqlite_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plain.sqlite"
    write(path, 4096, [(1, 2, None)])
    monkeypatch.setattr(sqlite_pages, "library", lambda: None)
    assert decoded(path, ["a"]) is None
