"""Any trace file → typed tables. The content decides which reader runs, never the suffix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from stallscope.errors import InputError, ToolMissingError
from stallscope.ingest.content_hash import content_sha256
from stallscope.ingest.identify import identify, unreadable
from stallscope.ingest.progress import Progress, silent
from stallscope.model.analysis import Source, SourceFormat

if TYPE_CHECKING:
    from stallscope.ingest.cache import TraceCache
    from stallscope.ingest.nsys_export import Nsys
    from stallscope.ingest.nsys_source import ExportSource
    from stallscope.model.trace import Trace


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How to open a trace.

    `nsys` is the program that exports reports, `cache_dir` the cache folder (None: the environment's, else the
    platform's), `progress` hears about the stages.
    """

    nsys: str | None = None
    use_cache: bool = True
    cache_dir: str | None = None
    progress: Progress | None = None


def open_trace(path: Path, options: OpenOptions | None = None) -> Trace:
    """Read one trace: a `.nsys-rep` report, an nsys export (SQLite, Parquet or Arrow folder) or a PyTorch trace.

    Nothing is written beside the input. Raises `InputError` when it cannot be read and `ToolMissingError` when it
    needs nsys and there is none.
    """
    format_ = identify(path)
    if format_ in {"ncu-csv", "ncu-rep"}:
        raise InputError(
            "an Nsight Compute report: it explains kernels but holds no timeline",
            file=path.name,
            next_step="give it together with an Nsight Systems report of the same program",
        )
    try:
        if format_ == "kineto":
            return _open_kineto(path)
        return _NsysInput(path, format_, options or OpenOptions()).open()
    except InputError as error:
        error.file = error.file or path.name
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def _open_kineto(path: Path) -> Trace:
    from stallscope.ingest.kineto import read_kineto
    from stallscope.ingest.limits import require_sane

    with unchanged([path], path.name):
        return require_sane(read_kineto(path))


class _NsysInput:
    """One Nsight Systems input on its way through hash, cache and, for reports, nsys."""

    def __init__(self, path: Path, format_: SourceFormat, options: OpenOptions) -> None:
        self._path = path
        self._format = format_
        self._options = options
        self._progress = options.progress or silent
        self._cache = _cache(options.cache_dir) if options.use_cache else None
        self._confirm: Callable[[], None] = lambda: None

    def open(self) -> Trace:
        """The trace, from the cache where it has it."""
        self._progress("hashing", None)
        files = _files(self._path)
        with unchanged(files, self._path.name) as confirm:
            self._confirm = confirm
            if self._cache is None and self._format != "nsys-rep":
                return self._read_and_hashed(files)
            sha256 = self._cache.sha256(files) if self._cache else content_sha256(files)
            if self._format == "nsys-rep":
                return self._open_report(sha256)
            return self._kept(sha256, sha256, self._path)

    def _read_and_hashed(self, files: list[Path]) -> Trace:
        """Both at once where no cache needs the hash first."""
        with ThreadPoolExecutor(1) as beside:
            hashed = beside.submit(content_sha256, files)
            trace = self._read("", "", self._path)
            return replace(trace, source=msgspec.structs.replace(trace.source, sha256=hashed.result()))

    def _open_report(self, sha256: str) -> Trace:
        from stallscope.ingest.nsys_export import find_nsys, report_version

        try:
            nsys = find_nsys(self._options.nsys, report_version(self._path))
        except ToolMissingError as missing:
            kept = self._cache.load_any(sha256) if self._cache else None
            if kept is None:
                raise ToolMissingError(missing.what, file=self._path.name, next_step=missing.next_step) from missing
            return self._named(kept)
        key = f"{sha256}-{nsys.label}"
        return self._cached(key) or self._read_export(key, sha256, nsys)

    def _read_export(self, key: str, sha256: str, nsys: Nsys) -> Trace:
        from stallscope.ingest.cache import passing_place
        from stallscope.ingest.nsys_export import export

        with self._cache.export_place(key) if self._cache else passing_place() as target:
            if target.is_file():
                try:
                    return self._kept(key, sha256, target)
                except InputError:  # a damaged export in the cache is made again
                    target.unlink(missing_ok=True)
            export(self._path, target, nsys, progress=self._progress)
            return self._kept(key, sha256, target)

    def _kept(self, key: str, sha256: str, readable: Path) -> Trace:
        return self._cached(key) or self._read(key, sha256, readable)

    def _cached(self, key: str) -> Trace | None:
        kept = self._cache.load(key) if self._cache else None
        return None if kept is None else self._named(kept)

    def _named(self, trace: Trace) -> Trace:
        """The cached trace under the name it has now."""
        return replace(trace, source=msgspec.structs.replace(trace.source, name=self._path.name, format=self._format))

    def _read(self, key: str, sha256: str, readable: Path) -> Trace:
        from stallscope.ingest.limits import require_sane
        from stallscope.ingest.nsys_trace import read_trace

        source = self._source(readable)
        origin = Source(name=self._path.name, sha256=sha256, format=self._format)
        try:
            trace = require_sane(read_trace(source, origin, self._progress))
        finally:
            source.close()
        if self._cache:
            self._confirm()  # what changed since it was hashed must not be kept under that hash
            self._progress("keeping a copy in the cache", None)
            self._cache.store(key, trace)
        return trace

    def _source(self, readable: Path) -> ExportSource:
        if readable.is_dir():
            from stallscope.ingest.nsys_columnar import FolderExport

            return FolderExport(readable)
        from stallscope.ingest.nsys_sqlite import SqliteExport

        return SqliteExport(readable, self._path.name)


def _cache(folder: str | None) -> TraceCache:
    from stallscope.ingest.cache import TraceCache, cache_folder

    return TraceCache(cache_folder(folder))


@contextmanager
def unchanged(files: list[Path], name: str) -> Iterator[Callable[[], None]]:
    """The files must not change while the block runs; the yielded function asks early. Raises `InputError`."""
    before = [_identity(file) for file in files]

    def confirm() -> None:
        if [_identity(file) for file in files] != before:
            raise InputError(
                "it changed while it was read", file=name, next_step="wait until the program that writes it has ended"
            )

    try:
        yield confirm
    except InputError:
        confirm()  # the better explanation of what looks like damage
        raise
    confirm()


def _identity(file: Path) -> tuple[int, ...]:
    try:
        status = file.stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ino


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]
