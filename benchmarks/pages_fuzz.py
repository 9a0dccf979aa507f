"""Mutates small SQLite files and reads them with the page decoder and with SQLite: no crash, no hang, no other numbers.

python benchmarks/pages_fuzz.py [FILES]        # 100,000 by default; prints what came back
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

from stallscope.ingest.sqlite_pages import SqlitePages

NAMES = ["a", "b"]


def base(path: Path, page_bytes: int, filler: int) -> bytes:
    """A small table with integers of every width, text, and rows longer than a page."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA page_size={page_bytes}")
        db.execute("CREATE TABLE t (a INT, filler BLOB, b BIGINT)")
        values = [((i * 1_000_003) ** (1 + i % 3) % (1 << 62), filler, -i) for i in range(200)]
        db.executemany("INSERT INTO t VALUES (?, zeroblob(?), ?)", values)
        db.commit()
    return path.read_bytes()


def outcome(path: Path) -> str:
    """What both readers say about one file."""
    try:
        with closing(sqlite3.connect(path.as_uri() + "?mode=ro&immutable=1", uri=True)) as connection:
            pages = SqlitePages(path, connection)
            try:
                found = pages.integers("t", NAMES)
            finally:
                pages.close()
            if found is None:
                return "left to SQLite"
            expected = connection.execute("SELECT a, b FROM t").fetchall()
    except (sqlite3.DatabaseError, UnicodeDecodeError, KeyError):
        return "refused"
    if sorted(found.rows(), key=str) == sorted(expected, key=str):
        return "equal"
    return "different rows where SQLite reads the damaged tree another way"


def main() -> None:
    """Run the campaign and print the counts and the longest file."""
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    seed, counts, slowest = random.Random(7), Counter[str](), 0.0  # noqa: S311
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
