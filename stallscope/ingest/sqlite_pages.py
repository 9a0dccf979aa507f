"""Columns of SQLite tables, decoded from the pages by a small compiled library.

Several times faster than SQLite. The library is optional: where it was not built, or a file is unusual (write-ahead
log, values of another type than wanted, anything damaged), the caller reads through SQLite and gets the same values or
SQLite's own diagnosis.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stallscope.ingest.export_codes import Column
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.nsys_source import Kind
from stallscope.ingest.sqlite_library import RECOUNT, Target, library
from stallscope.ingest.sqlite_targets import ColumnTarget

_WORKERS = min(4, os.cpu_count() or 1)
_LEAVES_A_WORKER = 256
_LARGE_BYTES = 64_000_000
"""Files below this are read before a second thread would be of use."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """Leaf pages of a table in rowid order and how many cells each of them holds."""

    leaves: npt.NDArray[np.uint32]
    cells: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Root page, the position of each wanted column in the record, and that of the column that is the rowid (or -1)."""

    root: int
    position: Mapping[str, int]
    rowid: int


class SqlitePages:
    """The pages of one SQLite file, read as they are needed."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Open `path`; `connection` (opened by the caller) tells where tables begin."""
        self._connection = connection
        self._file = path.open("rb")
        self.size = os.fstat(self._file.fileno()).st_size
        self._beside = ThreadPoolExecutor(1)
        self._announced: dict[str, Mapping[str, Kind]] = {}
        self._ahead: dict[str, Future[Rows | None]] = {}

    def close(self) -> None:
        """Release the file."""
        self._beside.shutdown(cancel_futures=True)
        self._file.close()

    def announce(self, table: str, kinds: Mapping[str, Kind]) -> None:
        """Say that `rows` will be asked for this: a large file's tables are decoded while the caller handles others.

        The first table is waited for with all threads; what was announced follows it.
        """
        if self.size >= _LARGE_BYTES:
            self._announced[table] = dict(kinds)

    def rows(self, table: str, kinds: Mapping[str, Kind]) -> Rows | None:
        """The columns in rowid order, or None when SQLite has to read them."""
        ahead, announced = self._ahead.pop(table, None), self._announced.pop(table, None)
        if ahead is not None and announced == kinds:
            return ahead.result()
        found = self._whole(self._layout(table, list(kinds)), kinds)
        for later, wanted in self._announced.items():
            if later not in self._ahead:
                layout = self._layout(later, list(wanted))  # here, as its connection belongs to this thread
                self._ahead[later] = self._beside.submit(self._whole, layout, wanted)
        return found

    def _whole(self, layout: _Layout | None, kinds: Mapping[str, Kind]) -> Rows | None:
        decoder = library()
        if decoder is None or layout is None:
            return None
        names = sorted(kinds, key=lambda name: layout.position[name])
        for is_counted in (False, True):
            tree = self._tree(decoder, layout.root, is_counted=is_counted)
            if tree is None:
                continue
            if int(tree.cells.sum()) * len(kinds) > self.size:
                return None  # every value takes a byte of its record's header
            state, columns = self._decoded(decoder, tree, layout, {name: kinds[name] for name in names})
            if state != RECOUNT:
                return None if state else Rows({name: columns[name] for name in kinds}, int(tree.cells.sum()))
        return None

    def _layout(self, table: str, names: Sequence[str]) -> _Layout | None:
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
        return _Layout(int(found[0]), {name: position[name] for name in names}, rowid)

    def _tree(self, decoder: ctypes.CDLL, root: int, *, is_counted: bool) -> _Tree | None:
        capacity = 1024
        while True:
            leaves, cells = np.empty(capacity, np.uint32), np.empty(capacity, np.int64)
            count = decoder.stallscope_leaves(
                self._file.fileno(), self.size, root, leaves.ctypes.data, cells.ctypes.data, capacity, is_counted
            )
            if count < 0:
                return None
            if count <= capacity:
                return _Tree(leaves[:count], cells[:count])
            capacity = count

    def _decoded(
        self, decoder: ctypes.CDLL, tree: _Tree, layout: _Layout, kinds: Mapping[str, Kind]
    ) -> tuple[int, dict[str, Column]]:
        """State of the decoding (0: well) and the columns."""
        before = np.concatenate(([0], np.cumsum(tree.cells)))
        targets = [ColumnTarget.of(kind, layout.position[name], int(before[-1])) for name, kind in kinds.items()]
        workers = max(1, min(_WORKERS, len(tree.leaves) // _LEAVES_A_WORKER))
        edges = np.linspace(0, len(tree.leaves), workers + 1).astype(int).tolist()
        parts = [(Target * len(targets))(*[target.native() for target in targets]) for _ in range(workers)]

        def decode(number: int) -> int:
            first, after = edges[number], edges[number + 1]
            leaves, cells = tree.leaves[first:after], tree.cells[first:after]
            return int(
                decoder.stallscope_decode(
                    self._file.fileno(),
                    self.size,
                    leaves.ctypes.data,
                    cells.ctypes.data,
                    len(leaves),
                    ctypes.addressof(parts[number]),
                    len(targets),
                    layout.rowid,
                    int(before[first]),
                )
            )

        try:
            states = {state for state in _each(decode, workers) if state}
            if states:
                return (RECOUNT if states == {RECOUNT} else min(states - {RECOUNT})), {}
            starts = [int(before[edge]) for edge in edges]
            done = [target.column([part[k] for part in parts], starts) for k, target in enumerate(targets)]
            return 0, dict(zip(kinds, done, strict=True))
        finally:
            for target in chain.from_iterable(parts):
                decoder.stallscope_release(ctypes.byref(target.distinct))


def _each(work: Callable[[int], int], count: int) -> list[int]:
    if count == 1:
        return [work(0)]
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))
