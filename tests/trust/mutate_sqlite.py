"""Structure-aware damage to SQLite exports: cells, rows, types, schema, and raw pages."""

# ruff: noqa: S608 - the names come from this file and from the files it made

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from mutate_values import BLOBS, TEXTS, integer, value
from sqlite_build import CUDA_AND_NVTX, SCHEMAS, ExportBuilder

KNOWN = tuple(sorted({table for tables in SCHEMAS.values() for table in tables}))
Change = Callable[[sqlite3.Connection, Random], None]
NARROW_FROM = 1_000_000
"""Campaigns damage whole exports below this number and narrow ones from it on."""


def template(seed: int) -> ExportBuilder:
    """A small whole export: launches, kernels, ranges, and a few more tables of that generation."""
    random = Random(seed)  # noqa: S311
    version = random.choice(sorted(SCHEMAS))
    build = ExportBuilder(version, capture=CUDA_AND_NVTX if random.random() < 0.7 else None)
    for enum in [name for name in build.rows if name.startswith("ENUM_") and random.random() < 0.6]:
        del build.rows[enum]
    for at in range(random.choice((3, 12, 30))):
        build.call(at * 100 + 1, at * 100 + 9, random.choice(TEXTS[-5:]), correlationId=at + 1)
        build.kernel(at * 100 + 20, at * 100 + random.choice((60, 99, 118)), correlationId=at + 1)
    build.range(1, 4000, "step").copy(4100, 4200, correlationId=99).call(4050, 4300, "cudaMemcpy", correlationId=99)
    for table in random.sample(sorted(set(build.columns) - build.rows.keys()), random.randrange(6)):
        for _ in range(random.randrange(4)):
            _random_row(build, table, random)
    return build


def narrow_template(seed: int) -> ExportBuilder:
    """A template with few of its tables: damage hits more of what there is, and one input costs a third."""
    build, random = template(seed), Random(~seed)  # noqa: S311
    events = sorted(name for name in build.rows if name.startswith(("CUPTI_ACTIVITY_KIND", "NVTX_EVENTS", "OSRT")))
    kept = set(random.sample(events, min(len(events), random.choice((1, 1, 2)))))
    rest = ["StringIds", *(name for name in build.rows if name not in events and random.random() < 0.2)]
    build.rows = {name: rows for name, rows in build.rows.items() if name in kept or name in rest}
    return build


def _random_row(build: ExportBuilder, table: str, random: Random) -> None:
    columns = {name: integer(random) for name in build.columns[table] if not name.endswith(":")}
    start = random.randrange(1, 5000)
    columns.update({name: time for name, time in (("start", start), ("end", start + 40)) if name in columns})
    texts = {name.rstrip(":"): random.choice(TEXTS) for name in build.columns[table] if name.endswith(":")}
    plausible = {"deviceId": 0, "gpuId": 0, "contextId": 1, "globalPid": 100 << 24 | 1 << 48}
    columns.update({name: number for name, number in plausible.items() if name in columns})
    if "globalTid" in columns:
        columns["globalTid"] = 1 << 48 | 100 << 24 | random.choice((5, 6))
    build.add(table, **columns, **texts)


def write_template(seed: int, path: Path, page_bytes: int, *, narrow: bool = False) -> bytes:
    """The template as a file with small pages, so that damage to one byte matters."""
    (narrow_template if narrow else template)(seed).write(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"PRAGMA page_size={page_bytes}")
        database.execute("VACUUM")
    return path.read_bytes()


def mutate(whole: bytes, seed: int, path: Path) -> Path:
    """Write one damaged copy of an export; the same for the same seed."""
    random = Random(seed)  # noqa: S311
    path.write_bytes(whole)
    kind = random.random()
    if kind < 0.6:
        _change_content(path, random)
    if kind > 0.5:
        path.write_bytes(_damaged(bytearray(path.read_bytes()), random))
    return path


def _change_content(path: Path, random: Random) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous=OFF")
        database.execute("PRAGMA journal_mode=MEMORY")
        for _ in range(random.choice((1, 1, 2, 4))):
            with suppress(sqlite3.Error, OverflowError, IndexError):
                random.choice(CHANGES)(database, random)


def _table(database: sqlite3.Connection, random: Random) -> str:
    names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    busy = [name for name in names if name.startswith(("CUPTI", "NVTX", "StringIds"))]
    return str(random.choice(busy if busy and random.random() < 0.6 else names))


def _column(database: sqlite3.Connection, table: str, random: Random) -> str:
    return str(random.choice(database.execute(f'PRAGMA table_info("{table}")').fetchall())[1])


def _cell(database: sqlite3.Connection, random: Random) -> None:
    table = _table(database, random)
    column = _column(database, table, random)
    which = random.choice(("1", "rowid = 1", "rowid % 2", "rowid > 5", "rowid = (SELECT max(rowid) FROM x)"))
    statement = f'UPDATE "{table}" SET "{column}" = ? WHERE {which.replace("FROM x", f"FROM {table}")}'
    database.execute(statement, (value(random),))


def _arithmetic(database: sqlite3.Connection, random: Random) -> None:
    table = _table(database, random)
    column = _column(database, table, random)
    change = random.choice(("+ ?", "- ?", "* ?", "| ?", "<< 40", "* -1"))
    arguments = (integer(random),) if "?" in change else ()
    database.execute(f'UPDATE "{table}" SET "{column}" = "{column}" {change}', arguments)


def _rows(database: sqlite3.Connection, random: Random) -> None:
    table = _table(database, random)
    statements = (
        f'DELETE FROM "{table}"',
        f'DELETE FROM "{table}" WHERE rowid % 2',
        f'INSERT INTO "{table}" SELECT * FROM "{table}"',
        f'UPDATE "{table}" SET rowid = rowid + 1000000000000',
        f'UPDATE "{table}" SET rowid = -rowid',
    )
    database.execute(random.choice(statements))


def _schema(database: sqlite3.Connection, random: Random) -> None:
    table = _table(database, random)
    column = _column(database, table, random)
    other = random.choice(KNOWN)
    statements = (
        f'DROP TABLE "{table}"',
        f'ALTER TABLE "{table}" DROP COLUMN "{column}"',
        f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column.upper()}"',
        f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "x""y"',
        f'ALTER TABLE "{table}" RENAME TO "{other}"',
        f'ALTER TABLE "{table}" RENAME TO "{table}_V{random.randrange(4)}"',
        f'ALTER TABLE "{table}" ADD COLUMN extra AS (1/0)',
        f'ALTER TABLE "{table}" ADD COLUMN added INTEGER DEFAULT 9223372036854775807',
        f'CREATE TABLE "{other}" (start)',
        f'CREATE TABLE "{table}_V9" AS SELECT * FROM "{table}"',
        f'CREATE VIEW "{other}" AS SELECT * FROM "{table}"',
        f'CREATE TRIGGER t AFTER INSERT ON "{table}" BEGIN SELECT 1; END',
        f'CREATE INDEX i ON "{table}" ("{column}")',
        f'CREATE TABLE "{other}" ("{column}" INTEGER PRIMARY KEY, start, "end") WITHOUT ROWID',
        f'CREATE VIRTUAL TABLE "{other}" USING fts5("{column}")',
        'CREATE TABLE ""(a)',
    )
    database.execute(random.choice(statements))


def _master(database: sqlite3.Connection, random: Random) -> None:
    """Edits of sqlite_master itself: wrong roots, wrong SQL, wrong types."""
    database.execute("PRAGMA writable_schema=ON")
    statements = (
        ("UPDATE sqlite_master SET rootpage = ? WHERE rowid = 3", integer(random)),
        ("UPDATE sqlite_master SET rootpage = (SELECT max(rootpage) FROM sqlite_master), name = name || ?", ""),
        ("UPDATE sqlite_master SET sql = ? WHERE rowid % 3 = 0", random.choice((*TEXTS, *BLOBS))),
        ("UPDATE sqlite_master SET sql = replace(sql, 'INTEGER', ?)", random.choice(("TEXT", "REAL", "BLOB", "", "("))),
        ("UPDATE sqlite_master SET sql = substr(sql, 1, ?)", random.randrange(40)),
        ("UPDATE sqlite_master SET type = ?", random.choice(("view", "index", "", "x"))),
        ("UPDATE sqlite_master SET name = ? WHERE rowid = 2", random.choice((*TEXTS, *KNOWN))),
    )
    statement, argument = random.choice(statements)
    database.execute(statement, (argument,))


def _layout(database: sqlite3.Connection, random: Random) -> None:
    pragma = random.choice(("page_size=512", "page_size=65536", "journal_mode=WAL", "auto_vacuum=1", "user_version=9"))
    database.execute(f"PRAGMA {pragma}")
    database.execute("VACUUM")


CHANGES: tuple[Change, ...] = (_cell, _cell, _cell, _cell, _arithmetic, _arithmetic, _rows, _schema, _master, _layout)


def _damaged(data: bytearray, random: Random) -> bytes:
    kind = random.random()
    if kind < 0.1:
        return bytes(data[: random.randrange(len(data) + 1)])
    if kind < 0.2:
        at, end = sorted(random.randrange(len(data)) for _ in range(2))
        data[at:end] = random.choice((b"\0", b"\xff", b"\x05")) * (end - at)
        return bytes(data)
    first = 0 if kind < 0.3 else 100
    for _ in range(random.choice((1, 1, 2, 8, 40))):
        at = random.randrange(first, len(data))
        data[at] = random.choice(
            (0, 1, 5, 13, 127, 128, 255, data[at] ^ 1 << random.randrange(8), random.randrange(256))
        )
    if kind > 0.9:
        page = int.from_bytes(data[16:18], "big") or 4096
        here, there = (random.randrange(max(1, len(data) // page)) * page for _ in range(2))
        data[here : here + page] = data[there : there + page]
    return bytes(data)
