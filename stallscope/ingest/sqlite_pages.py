"""Integer columns of SQLite tables, decoded from the pages by a small compiled library.

Several times faster than SQLite. The library (`pages.c`) is optional: where it was not built, or a file is unusual
(write-ahead log, values that are no integers, anything damaged), the caller reads through SQLite and gets the same
numbers or SQLite's own diagnosis.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

LIBRARY = Path(__file__).with_name("_pages.so")
_WORKERS = min(4, os.cpu_count() or 1)
_LEAVES_A_WORKER = 256


@cache
def library() -> ctypes.CDLL | None:
    """The compiled decoder, or None where it was not built or is switched off (STALLSCOPE_PURE)."""
    if os.environ.get("STALLSCOPE_PURE") or not LIBRARY.is_file():
        return None
    try:
        found = ctypes.CDLL(str(LIBRARY))
    except OSError:
        return None
    file, pointer, i32, i64, u32, u64 = (
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_int32,
        ctypes.c_int64,
        ctypes.c_uint32,
        ctypes.c_uint64,
    )
    found.stallscope_leaves.restype = i64
    found.stallscope_leaves.argtypes = (file, u64, u32, pointer, pointer, i64)
    found.stallscope_decode.restype = ctypes.c_int
    found.stallscope_decode.argtypes = (file, u64, pointer, pointer, i64, pointer, i32, i32, pointer, pointer, i64)
    return found


class SqlitePages:
    """The pages of one SQLite file, read as they are needed."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Open `path`; `connection` (opened by the caller) tells where tables begin."""
        self._connection = connection
        self._file = path.open("rb")
        self.size = os.fstat(self._file.fileno()).st_size

    def close(self) -> None:
        """Release the file."""
        self._file.close()

    def integers(self, table: str, names: list[str]) -> pl.DataFrame | None:
        """The columns in rowid order, or None when SQLite has to read them."""
        decoder = library()
        layout = self._layout(table, names)
        if decoder is None or layout is None:
            return None
        root, columns, rowid = layout
        leaves, cells = self._leaves(decoder, root)
        if leaves is None or int(cells.sum()) * len(names) > self.size:
            return None  # every value takes a byte of its record's header
        order = np.argsort(columns, kind="stable")
        decoded = self._decode(decoder, (leaves, cells), columns[order], rowid)
        if decoded is None:
            return None
        series = {names[k]: _series(values, valid) for k, (values, valid) in zip(order, decoded, strict=True)}
        return pl.DataFrame({name: series[name] for name in names})

    def _layout(self, table: str, names: list[str]) -> tuple[int, npt.NDArray[np.int32], int] | None:
        """Root page, position of each column in the record, and the column that stands for the rowid."""
        found = self._connection.execute(
            "SELECT rootpage, sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        if found is None or "WITHOUT ROWID" in str(found[1]).upper():
            return None
        quoted = '"' + table.replace('"', '""') + '"'
        columns = self._connection.execute(f"PRAGMA table_info({quoted})").fetchall()
        position = {str(name): index for index, name, *_ in columns}
        if any(default is not None and name in names for _, name, _, _, default, _ in columns):
            return None  # short records would take the default, which only SQLite evaluates
        keys = [index for index, _, kind, _, _, key in columns if key and str(kind).upper() == "INTEGER"]
        rowid = keys[0] if len(keys) == 1 and sum(bool(key) for *_, key in columns) == 1 else -1
        return int(found[0]), np.array([position[name] for name in names], np.int32), rowid

    def _leaves(self, decoder: ctypes.CDLL, root: int) -> tuple[npt.NDArray[np.uint32] | None, npt.NDArray[np.int64]]:
        capacity = 1024
        while True:
            leaves, cells = np.empty(capacity, np.uint32), np.empty(capacity, np.int64)
            count = decoder.stallscope_leaves(
                self._file.fileno(), self.size, root, leaves.ctypes.data, cells.ctypes.data, capacity
            )
            if count < 0:
                return None, cells[:0]
            if count <= capacity:
                return leaves[:count], cells[:count]
            capacity = count

    def _decode(
        self,
        decoder: ctypes.CDLL,
        tree: tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]],
        columns: npt.NDArray[np.int32],
        rowid: int,
    ) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]] | None:
        leaves, cells = tree
        rows = int(cells.sum())
        out = [(np.empty(rows, np.int64), np.empty(rows, np.uint8)) for _ in columns]
        values = (ctypes.c_void_p * len(out))(*[v.ctypes.data for v, _ in out])
        valid = (ctypes.c_void_p * len(out))(*[v.ctypes.data for _, v in out])
        columns = np.ascontiguousarray(columns)

        def part(bounds: tuple[int, int]) -> int:
            first, after = bounds
            return int(
                decoder.stallscope_decode(
                    self._file.fileno(),
                    self.size,
                    leaves[first:].ctypes.data,
                    cells[first:].ctypes.data,
                    after - first,
                    columns.ctypes.data,
                    len(columns),
                    rowid,
                    ctypes.addressof(values),
                    ctypes.addressof(valid),
                    int(cells[:first].sum()),
                )
            )

        workers = max(1, min(_WORKERS, len(leaves) // _LEAVES_A_WORKER))
        edges = np.linspace(0, len(leaves), workers + 1).astype(int).tolist()
        if workers == 1:
            return None if part((0, len(leaves))) else out
        with ThreadPoolExecutor(workers) as pool:
            states = list(pool.map(part, pairwise(edges)))
        return None if any(states) else out


def _series(values: npt.NDArray[np.int64], valid: npt.NDArray[np.uint8]) -> pl.Series:
    whole = pl.Series(values)
    if valid.all():
        return whole
    known = pl.Series(valid.view(np.bool_))
    return pl.select(pl.when(known).then(whole)).to_series()
