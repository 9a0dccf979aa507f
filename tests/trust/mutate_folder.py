"""Structure-aware damage to Parquet and Arrow export folders: cells, types, columns, files, and raw bytes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from mutate_sqlite import KNOWN, narrow_template, template
from mutate_values import TEXTS, integer, value

Tables = dict[str, pa.Table]
Change = Callable[[Tables, Random], None]


def template_tables(seed: int, place: Path, *, narrow: bool = False) -> Tables:
    """The small whole export of `mutate_sqlite`, or one with few of its tables, as Arrow tables."""
    (narrow_template if narrow else template)(seed).write(place)
    tables: Tables = {}
    with closing(sqlite3.connect(place)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = database.execute(f'SELECT * FROM "{name}"')  # noqa: S608
            headers = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
            declared = dict(database.execute(f"SELECT name, type FROM pragma_table_info('{name}')"))  # noqa: S608
            types = {header: pa.string() if declared[header] == "TEXT" else pa.int64() for header in headers}
            columns = {h: pa.array([row[i] for row in rows], types[h]) for i, h in enumerate(headers)}
            tables[name] = pa.table(columns)
    return tables


def mutate(tables: Tables, seed: int, folder: Path, suffix: str) -> Path:
    """Write one damaged copy of an export folder; the same for the same seed."""
    random = Random(seed)  # noqa: S311
    changed = dict(tables)
    kind = random.random()
    if kind < 0.7:
        for _ in range(random.choice((1, 1, 2, 4))):
            with suppress(pa.ArrowException, OverflowError, IndexError, ValueError, TypeError, KeyError):
                random.choice(CHANGES)(changed, random)
    for name, table in changed.items():
        file = folder / f"{name.replace('/', '_')[:80]}{suffix}"
        with suppress(pa.ArrowException, ValueError):
            (_write_parquet if suffix == ".parquet" else _write_arrow)(table, file, random)
    if kind > 0.6:
        _damage_files(folder, random)
    return folder


def _write_parquet(table: pa.Table, file: Path, random: Random) -> None:
    codec = random.choice(("snappy", "zstd", "none", "gzip"))
    pq.write_table(table, file, compression=codec, use_dictionary=random.random() < 0.5)


def _write_arrow(table: pa.Table, file: Path, random: Random) -> None:
    options = pa.ipc.IpcWriteOptions(compression=random.choice((None, None, "zstd", "lz4")))
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=random.choice((1, 7, 1000)))


def _pick(tables: Tables, random: Random) -> tuple[str, str]:
    names = sorted(tables)
    busy = [name for name in names if name.startswith(("CUPTI", "NVTX", "StringIds"))]
    name = random.choice(busy if busy and random.random() < 0.6 else names)
    return name, random.choice(tables[name].column_names)


def _put(tables: Tables, name: str, column: str, data: Any) -> None:
    table = tables[name]
    tables[name] = table.set_column(table.column_names.index(column), column, data)


def _cells(tables: Tables, random: Random) -> None:
    name, column = _pick(tables, random)
    cells = tables[name].column(column).to_pylist()
    odd = value(random)
    every = random.choice((1, 2, 5, len(cells) or 1))
    changed = [odd if at % every == 0 else cell for at, cell in enumerate(cells)]
    _put(tables, name, column, pa.array(changed, type=tables[name].schema.field(column).type, from_pandas=True))


def _numbers(tables: Tables, random: Random) -> None:
    name, column = _pick(tables, random)
    _put(tables, name, column, pa.array([integer(random) for _ in range(tables[name].num_rows)], pa.int64()))


def _type(tables: Tables, random: Random) -> None:
    name, column = _pick(tables, random)
    kind = random.choice(
        (
            *(pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_()),
            *(pa.string(), pa.large_string(), pa.binary(), pa.string_view(), pa.timestamp("ns"), pa.duration("us")),
            *(pa.date32(), pa.time64("ns"), pa.decimal128(38, 3), pa.dictionary(pa.int32(), pa.string()), pa.float16()),
        )
    )
    _put(tables, name, column, tables[name].column(column).cast(kind, safe=False))


def _nested(tables: Tables, random: Random) -> None:
    name, column = _pick(tables, random)
    cells = tables[name].column(column).to_pylist()
    shaped = random.choice(
        (
            lambda c: pa.array([[x] for x in c]),
            lambda c: pa.array([{"a": x} for x in c]),
            lambda c: pa.array([[("k", 1)] for _ in c], pa.map_(pa.string(), pa.int64())),
            lambda c: pa.nulls(len(c)),
            lambda c: pa.array(["x"] * len(c)).dictionary_encode(),
        )
    )(cells)
    _put(tables, name, column, shaped)


def _rows(tables: Tables, random: Random) -> None:
    name, _ = _pick(tables, random)
    table = tables[name]
    tables[name] = random.choice(
        (table.slice(0, 0), table.slice(1), pa.concat_tables([table] * 3), table.take([0] * 5))
    )


def _columns(tables: Tables, random: Random) -> None:
    name, column = _pick(tables, random)
    table = tables[name]
    other = random.choice((column.upper(), "", "x" * 300, 'a"b', "\ud7ff", random.choice(TEXTS)))
    renamed = [other if known == column else known for known in table.column_names]
    twice = table.append_column(column, table.column(column))
    tables[name] = random.choice((table.drop_columns([column]), table.rename_columns(renamed), twice, table.select([])))


def _tables(tables: Tables, random: Random) -> None:
    name, _ = _pick(tables, random)
    other = random.choice((*KNOWN, f"{name}_V{random.randrange(4)}", name.lower()))
    if random.random() < 0.5:
        tables[other] = tables.pop(name)
    else:
        tables[other] = tables[name]


CHANGES: tuple[Change, ...] = (
    _cells,
    _cells,
    _cells,
    _numbers,
    _numbers,
    _type,
    _type,
    _nested,
    _rows,
    _columns,
    _tables,
)


def _damage_files(folder: Path, random: Random) -> None:
    files = sorted(folder.iterdir())
    for file in random.sample(files, min(len(files), random.choice((1, 1, 2)))):
        with suppress(OSError):  # an earlier change may have taken the file away
            random.choice((_flip, _flip, _flip, _cut, _swap, _odd))(file, random)


def _flip(file: Path, random: Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(random.choice((1, 1, 2, 8, 40))):
        at = random.choice((random.randrange(len(data)), max(0, len(data) - 1 - random.randrange(400))))
        data[at] = random.choice((0, 1, 127, 128, 255, data[at] ^ 1 << random.randrange(8)))
    file.write_bytes(data)


def _cut(file: Path, random: Random) -> None:
    data = file.read_bytes()
    at = random.randrange(len(data))
    file.write_bytes(random.choice((data[:at], data[at:], data + data[at:], b"")))


def _swap(file: Path, random: Random) -> None:
    other = random.choice(sorted(file.parent.iterdir()))
    one, two = file.read_bytes(), other.read_bytes()
    file.write_bytes(two)
    other.write_bytes(one)


def _odd(file: Path, random: Random) -> None:
    file.unlink()
    if random.random() < 0.5:
        file.mkdir()
    else:
        file.symlink_to(random.choice((file.name, "/nonexistent", "..")))
