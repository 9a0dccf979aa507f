"""Keeps what was derived from a trace, so that the next start needs milliseconds: columns are mapped, not read.

An entry is a folder of .npy files and one header with their checksums. It appears whole or not at all; a damaged one is
reported and made again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from stallscope.model.analysis import Analysis
from stallscope.views.lanes import (
    ChargeTable,
    ClassCover,
    Covers,
    Group,
    IntervalClass,
    Intervals,
    Lane,
    LaneTable,
)

FORMAT = 1
LIMIT_BYTES = 10 << 30
_HEADER = "header.json"
_ANALYSIS = "analysis.json"

Column = npt.NDArray[Any]
T = TypeVar("T")


class DamagedEntryError(Exception):
    """An entry is there but cannot be used."""


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    checksums: dict[str, int]
    lanes: tuple[Lane, ...]
    groups: tuple[Group, ...]
    classes: tuple[IntervalClass, ...]
    names: tuple[str, ...]
    covers: tuple[tuple[ClassCover, ...], ...]
    waits: tuple[str, ...]
    devices: tuple[str, ...]
    threads: tuple[str, ...]
    paths: tuple[str, ...]


class LaneStore:
    """One folder of entries, by key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "dashboard"

    def load(self, key: str) -> tuple[Analysis, LaneTable] | None:
        """The entry of that key, or None when there is none. Raises `DamagedEntryError`."""
        entry = self._folder / key
        if not entry.is_dir():
            return None
        try:
            found = _load(entry)
        except (OSError, ValueError, TypeError, KeyError, EOFError, msgspec.MsgspecError) as error:
            shutil.rmtree(entry, ignore_errors=True)
            raise DamagedEntryError(str(error)) from error
        with suppress(OSError):
            os.utime(entry)
        return found

    def save(self, key: str, analysis: Analysis, table: LaneTable) -> None:
        """Keep an entry; a cache that cannot be written is no reason to fail."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = Path(tempfile.mkdtemp(prefix=".part-", dir=self._folder))
            try:
                _save(part, analysis, table)
                with suppress(OSError):  # another process may have kept it first
                    part.rename(self._folder / key)
            finally:
                shutil.rmtree(part, ignore_errors=True)
            self._prune()

    def _prune(self) -> None:
        """Least recently used entries go when all together grow beyond LIMIT_BYTES; the newest one stays."""
        entries = sorted(self._folder.glob("[!.]*"), key=lambda entry: entry.stat().st_mtime)
        sizes = {entry: sum(file.stat().st_size for file in entry.iterdir()) for entry in entries}
        total = sum(sizes.values())
        for entry in entries[:-1]:
            if total <= LIMIT_BYTES:
                return
            total -= sizes[entry]
            shutil.rmtree(entry, ignore_errors=True)


def _columns(table: LaneTable) -> dict[str, Column]:
    """Every array by a file name that says where it belongs."""
    found = {}
    for part, owner in (("interval", table.intervals), ("cover", table.cover), ("charge", table.charges)):
        for entry in fields(owner):
            value = getattr(owner, entry.name)
            if isinstance(value, np.ndarray):
                found[f"{part}.{entry.name}"] = value
    for detail, columns in table.details.items():
        for name, column in columns.items():
            found[f"detail.{detail}.{name}"] = column
    return found


def _save(folder: Path, analysis: Analysis, table: LaneTable) -> None:
    checksums = {}
    for name, column in _columns(table).items():
        file = folder / f"{name}.npy"
        np.save(file, np.ascontiguousarray(column), allow_pickle=False)
        checksums[file.name] = _checksum(file)
    text = msgspec.json.encode(analysis)
    (folder / _ANALYSIS).write_bytes(text)
    checksums[_ANALYSIS] = zlib.crc32(text)
    charges = table.charges
    header = _Header(
        format=FORMAT,
        checksums=checksums,
        lanes=table.lanes,
        groups=table.groups,
        classes=table.classes,
        names=table.names,
        covers=table.covers,
        waits=charges.waits,
        devices=charges.devices,
        threads=charges.threads,
        paths=charges.paths,
    )
    (folder / _HEADER).write_bytes(msgspec.json.encode(header))


def _load(entry: Path) -> tuple[Analysis, LaneTable]:
    header = msgspec.json.decode((entry / _HEADER).read_bytes(), type=_Header)
    if header.format != FORMAT:
        raise ValueError(f"format {header.format}")
    for name, checksum in header.checksums.items():
        if _checksum(entry / name) != checksum:
            raise ValueError(f"{name} changed")
    analysis = Analysis.from_json((entry / _ANALYSIS).read_bytes())
    columns = {
        name.removesuffix(".npy"): np.load(entry / name, mmap_mode="r", allow_pickle=False).view(np.ndarray)
        for name in header.checksums
        if name.endswith(".npy")
    }
    return analysis, _table(header, columns)


def _table(header: _Header, columns: Mapping[str, Column]) -> LaneTable:
    texts = {"waits": header.waits, "devices": header.devices, "threads": header.threads, "paths": header.paths}
    details: dict[str, dict[str, Column]] = {}
    for name, column in columns.items():
        part, _, rest = name.partition(".")
        if part == "detail":
            table, _, column_name = rest.partition(".")
            details.setdefault(table, {})[column_name] = column
    return LaneTable(
        lanes=header.lanes,
        groups=header.groups,
        classes=header.classes,
        names=header.names,
        intervals=_part(Intervals, "interval", columns),
        covers=header.covers,
        cover=_part(Covers, "cover", columns),
        details=details,
        charges=_part(ChargeTable, "charge", columns, **texts),
    )


def _part(kind: type[T], prefix: str, columns: Mapping[str, Column], **others: Any) -> T:
    arrays = {name.removeprefix(f"{prefix}."): c for name, c in columns.items() if name.startswith(f"{prefix}.")}
    return kind(**arrays, **others)


def _checksum(file: Path) -> int:
    found = 0
    with file.open("rb") as opened:
        while block := opened.read(1 << 20):
            found = zlib.crc32(block, found)
    return found
