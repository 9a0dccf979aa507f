"""Columnar copies of traces and exports of reports, in the user's cache folder; never beside the user's file."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import polars as pl

from stallscope.ingest.content_hash import blake2, content_sha256
from stallscope.model import events
from stallscope.model.columns import Table
from stallscope.model.names import Names
from stallscope.model.trace import Trace

VARIABLE = "STALLSCOPE_CACHE_DIR"
LIMIT_BYTES = 20 << 30
"""The least recently used entries go when the cache grows beyond this."""

STALE_S = 86_400.0
"""Half-written entries older than this, or as far in the future, belong to nobody any more."""

_DIGEST_BYTES = 20
_SHA256 = re.compile("[0-9a-f]{64}")
_SETTLED_S = 2.0
_NAMES = "names"
_HEADER = "trace.json"
_TABLES: dict[str, type[Table]] = {
    kind.__name__: kind
    for kind in vars(events).values()
    if isinstance(kind, type) and issubclass(kind, Table) and kind is not Table
}


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of a cached trace but its columns, with the digest of each column file."""

    files: dict[str, str]
    trace: dict[str, msgspec.Raw]


def cache_folder(chosen: str | None = None) -> Path:
    """The chosen folder, else STALLSCOPE_CACHE_DIR, else the platform's cache folder of this user."""
    import platformdirs

    return Path(chosen or os.environ.get(VARIABLE) or platformdirs.user_cache_dir("stallscope", appauthor=False))


class TraceCache:
    """One cache folder. Entries appear whole or not at all; a damaged one counts as absent and is removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def sha256(self, paths: list[Path]) -> str:
        """Content hash of a file, or of the files of a folder, remembered by path, size and time of change."""
        key = self._folder / "hashes" / _identity(paths)
        with suppress(OSError, UnicodeDecodeError):
            known = key.read_text("ascii")
            if _SHA256.fullmatch(known):
                return known
        begun = time.time()
        found = content_sha256(paths)
        settled = all(path.stat().st_mtime < begun - _SETTLED_S for path in paths)
        if settled:  # a file that changed a moment ago could change again within the same tick of its clock
            with suppress(OSError):
                _write(key, found.encode("ascii"))
        return found

    def load(self, key: str) -> Trace | None:
        """The trace kept under this key, if it is whole."""
        entry = self._folder / "tables" / f"{key}-{reader_version()}"
        if not entry.is_dir():
            return None
        try:
            trace = _load(entry)
        except (OSError, ValueError, TypeError, KeyError, msgspec.MsgspecError, pl.exceptions.PolarsError):
            shutil.rmtree(entry, ignore_errors=True)
            return None
        with suppress(OSError):
            os.utime(entry)
        return trace

    def load_any(self, prefix: str) -> Trace | None:
        """The most recently used trace whose key begins with this prefix."""
        entries = (self._folder / "tables").glob(f"{prefix}*-{reader_version()}")
        for entry in sorted(entries, key=lambda e: e.stat().st_mtime, reverse=True):
            found = self.load(entry.name.removesuffix(f"-{reader_version()}"))
            if found is not None:
                return found
        return None

    def store(self, key: str, trace: Trace) -> None:
        """Keep a trace; a cache that cannot be written is no reason to fail."""
        with suppress(OSError, pl.exceptions.PolarsError):  # polars has its own word for a full disk
            tables = _made(self._folder / "tables")
            part = Path(tempfile.mkdtemp(prefix=".part-", dir=tables))
            try:
                _store(part, trace)
                with suppress(OSError):  # another process may have kept it first
                    part.rename(tables / f"{key}-{reader_version()}")
            finally:
                shutil.rmtree(part, ignore_errors=True)
            self._prune()

    @contextmanager
    def export_place(self, key: str) -> Iterator[Path]:
        """Where the SQLite export of a report is, or will be, kept; a passing place if that cannot be written."""
        try:
            place = _made(self._folder / "exports") / f"{key}.sqlite"
        except OSError:
            with passing_place() as place:
                yield place
            return
        yield place
        with suppress(OSError):
            os.utime(place)
        self._prune()

    def _prune(self) -> None:
        self._sweep()
        entries = [entry for kind in ("tables", "exports") for entry in (self._folder / kind).glob("[!.]*")]
        aged = sorted((_age_and_size(entry), entry) for entry in entries)
        total = sum(size for (_, size), _ in aged)
        for (_, size), entry in aged[:-1]:
            if total <= LIMIT_BYTES:
                return
            total -= size
            shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink(missing_ok=True)

    def _sweep(self) -> None:
        """Remove what killed processes left half-written."""
        for kind in ("tables", "exports", "hashes"):
            for part in (self._folder / kind).glob(".*"):
                with suppress(OSError):
                    if abs(time.time() - part.stat().st_mtime) > STALE_S:
                        shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink(missing_ok=True)


@contextmanager
def passing_place() -> Iterator[Path]:
    """Room for one SQLite export that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="stallscope-") as folder:
        yield Path(folder) / "export.sqlite"


@lru_cache(maxsize=1)
def reader_version() -> str:
    """Changes with every change of the code that reads traces or of the tables it fills."""
    digest = hashlib.blake2b(digest_size=8)
    for folder in (Path(__file__).parent, Path(events.__file__).parent):
        for file in sorted(folder.glob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _load(entry: Path) -> Trace:
    header = msgspec.json.decode((entry / _HEADER).read_bytes(), type=_Header)
    if any(blake2(entry / file) != digest for file, digest in header.files.items()):
        raise ValueError("a column file changed")
    hints = get_type_hints(Trace)
    fields = {name: msgspec.json.decode(raw, type=hints[name]) for name, raw in header.trace.items()}
    frames = {Path(file).stem: pl.read_parquet(entry / file) for file in header.files}
    names = Names(frames.pop(_NAMES).get_column("text").to_list())
    return Trace(**fields, names=names, tables={_TABLES[name]: _TABLES[name](frame) for name, frame in frames.items()})


def _store(entry: Path, trace: Trace) -> None:
    frames = {kind.__name__: table.frame for kind, table in trace.tables.items()}
    frames[_NAMES] = pl.DataFrame({"text": list(trace.names)}, schema={"text": pl.String()})
    for name, frame in frames.items():
        frame.write_parquet(entry / f"{name}.parquet", compression="zstd", compression_level=1, statistics=False)
    plain = {field.name: getattr(trace, field.name) for field in dataclasses.fields(trace)}
    header = _Header(
        files={f"{name}.parquet": blake2(entry / f"{name}.parquet") for name in frames},
        trace={name: _raw(value) for name, value in plain.items() if name not in {"names", "tables"}},
    )
    (entry / _HEADER).write_bytes(msgspec.json.encode(header))


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _identity(paths: list[Path]) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for path in paths:
        status = path.stat()
        digest.update(
            f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}\n".encode(
                "utf-8", "surrogateescape"
            )
        )
    return digest.hexdigest()


def _made(folder: Path) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _write(path: Path, content: bytes) -> None:
    _made(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _age_and_size(entry: Path) -> tuple[float, int]:
    try:
        files = list(entry.iterdir()) if entry.is_dir() else [entry]
        return entry.stat().st_mtime, sum(file.stat().st_size for file in files)
    except OSError:
        return 0.0, 0
