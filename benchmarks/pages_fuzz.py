"""Mutates small SQLite files and reads them with the page decoder and with SQLite: no crash, no hang, no other values.

python benchmarks/pages_fuzz.py [FILES] [SEED]     # 100,000 by default; prints what came back

With memory checks: compile stallscope/ingest/sqlite_*.c with -fsanitize=address,undefined -fno-sanitize-recover into
the library in stallscope/ingest, run with LD_PRELOAD="$(cc -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0.
"""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from stallscope.ingest.nsys_source import BOUNDS, Kind
from stallscope.ingest.sqlite_pages import SqlitePages

KINDS: dict[str, Kind] = {"a": "key", "b": "int", "c": "float", "d": "name", "e": "int32"}
QUERY = "SELECT a, b, CAST(c AS REAL), CAST(substr(coalesce(d, ''), 1, 1048576) AS BLOB), coalesce(e, 0) FROM t"
LOW, HIGH = BOUNDS["int32"]


def base(path: Path, page_bytes: int, filler: int) -> bytes:
    """A small table with integers of every width, reals, texts, and rows longer than a page."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA page_size={page_bytes}")
        db.execute("CREATE TABLE t (a INT, filler BLOB, b BIGINT, c REAL, d TEXT, e INT)")
        values = [
            (i * 7 % 11 << i % 40, filler, -((i * 1_000_003) ** (1 + i % 3) % (1 << 62)), i / 3, f"é name {i % 19}", i)
            for i in range(200)
        ]
        db.executemany("INSERT INTO t VALUES (?, zeroblob(?), ?, ?, ?, ?)", values)
        db.execute("UPDATE t SET a = NULL, d = NULL WHERE rowid % 17 = 0")
        db.commit()
    return path.read_bytes()


def outcome(path: Path) -> str:
    """What both readers say about one file."""
    try:
        with closing(sqlite3.connect(path.as_uri() + "?mode=ro&immutable=1", uri=True)) as connection:
            pages = SqlitePages(path, connection)
            try:
                found = pages.rows("t", KINDS)
            finally:
                pages.close()
            if found is None:
                return "left to SQLite"
            expected = [
                (a, b, c, (d or b"").decode("utf-8", "replace"), min(max(e, LOW), HIGH))
                for a, b, c, d, e in connection.execute(QUERY)
            ]
    except (sqlite3.DatabaseError, UnicodeDecodeError, KeyError):
        return "refused"
    except TypeError:
        return "different types where SQLite reads the damaged tree another way"
    if sorted(map(repr, found.records(*KINDS))) == sorted(map(repr, expected)):
        return "equal"
    return "different rows where SQLite reads the damaged tree another way"


def main() -> None:
    """Run the campaign and print the counts and the longest file."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    seed, counts, slowest = random.Random(number), Counter[str](), 0.0  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        bases = [base(Path(folder) / f"{p}-{f}.sqlite", p, f) for p in (512, 1024) for f in (0, 60, 900)]
        target = Path(folder) / "mutated.sqlite"
        for _ in range(files):
            damaged = bytearray(seed.choice(bases))
            for _ in range(seed.randint(1, 6)):
                damaged[seed.randrange(100, len(damaged))] = seed.choice((0, 1, 127, 128, 255, seed.randrange(256)))
            target.write_bytes(damaged)
            began = time.perf_counter()
            counts[outcome(target)] += 1
            slowest = max(slowest, time.perf_counter() - began)
    print(f"{files} files, slowest {slowest * 1e3:.0f} ms")
    for what, count in counts.most_common():
        print(f"{count:8d}  {what}")


if __name__ == "__main__":
    main()
