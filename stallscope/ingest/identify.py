"""Which kind of trace a path holds, by its content; the suffix never decides."""

from __future__ import annotations

import errno
import stat
import zlib
from collections import Counter
from pathlib import Path

from stallscope.errors import InputError
from stallscope.model.analysis import SourceFormat

SQLITE = b"SQLite format 3\x00"
NCU_REPORT = b"NVR\x00"
GZIP = b"\x1f\x8b"
NSYS_REPORT = b"NVIDIA Tegra Profiler Report "
NSYS_FORMATS: tuple[SourceFormat, ...] = ("nsys-rep", "nsys-sqlite", "nsys-parquet", "nsys-arrow")
SUFFIXES = (".parquet", ".arrow")
"""Of the files in a folder that `nsys export` wrote."""

_SAMPLE_BYTES = 1 << 16
_OF_EVENTS = (b'"traceEvents"', b'"ph"', b'"schemaVersion"', b'"deviceProperties"', b'"distributedInfo"')
"""One of these stands near the beginning of a PyTorch or Chrome trace; its header alone may be longer than a sample."""
_GIVE = "give a .nsys-rep report, an nsys export (.sqlite, parquetdir, arrowdir), a PyTorch trace (.json.gz) or ncu CSV"

_FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    (b"PAR1", "one Parquet file, not an export", "give the whole folder that nsys export --type parquetdir wrote"),
    (b"\x89HDF\r\n", "an HDF5 file, which is not read", "export again: nsys export --type sqlite REPORT.nsys-rep"),
    (b"ARROW1", "an Arrow file, not an export", "give the whole folder that nsys export --type arrowdir wrote"),
    (b"\xff\xff\xff\xff", "one Arrow stream, not an export", "give the folder of nsys export --type arrowdir"),
    (b"PK\x03\x04", "a zip archive", "unpack it and give the trace inside"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive", "unpack it (zstd -d) and give the trace inside"),
    (b"\xfd7zXZ\x00", "an xz archive", "unpack it (xz -d) and give the trace inside"),
    (b"BZh", "a bzip2 archive", "unpack it (bunzip2) and give the trace inside"),
    (bytes(16), "an export that was interrupted: its header was never written", "export the report again"),
    (b"\x7fELF", "a program, not a trace", "profile it: stallscope run -- PROGRAM"),
)


def identify(path: Path) -> SourceFormat:
    """The format of a file or folder.

    Raises `InputError` for everything that no reader takes: absent, unreadable, empty, a foreign or archive format.
    """
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        return _folder(path)
    if not stat.S_ISREG(mode):
        raise InputError("not a regular file", file=path.name, next_step=_GIVE)
    sample = _sample(path)
    if not sample:
        raise InputError(
            "empty file: the profiler or the export was interrupted",
            file=path.name,
            next_step="capture or export again",
        )
    return _by_content(sample, path.name)


def is_trace(path: Path) -> bool:
    """Whether a path that was found in a folder, not given, is a trace of a timeline.

    Budgets, settings and this program's own reports are JSON too, and lie beside traces.
    """
    try:
        found = identify(path)
    except InputError:
        return False
    if found == "kineto":
        sample = _sample(path)
        text = _inflated(sample) if sample.startswith(GZIP) else sample
        return any(word in text for word in _OF_EVENTS)
    return found in NSYS_FORMATS


def is_ncu(path: Path) -> bool:
    """Whether the file holds Nsight Compute data, by its first bytes."""
    try:
        with path.open("rb") as file:
            sample = file.read(_SAMPLE_BYTES)
    except OSError:
        return False
    head = _inflated(sample) if sample.startswith(GZIP) else sample
    if head.startswith((SQLITE, NSYS_REPORT)):
        return False
    return head.startswith(NCU_REPORT) or _holds_ncu_pages(head)


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except FileNotFoundError as error:
        if path.is_symlink():
            raise InputError(
                "a symbolic link to a file that is not there",
                file=path.name,
                next_step="correct the link, or give the file",
            ) from error
        raise InputError("no such file", file=path.name, next_step="check the path") from error
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError) -> InputError:
    """What to tell about a file that the operating system does not let us read."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EROFS}:
        where = "free space, or set STALLSCOPE_CACHE_DIR (and TMPDIR) to a folder that can be written"
        return InputError("no room to work: the disk is full or read-only", file=path.name, next_step=where)
    reason = error.strerror or type(error).__name__
    return InputError(f"cannot be read: {reason}", file=path.name, next_step="check the path and its permissions")


def _sample(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_SAMPLE_BYTES)
    except OSError as error:
        raise unreadable(path, error) from error


def _folder(path: Path) -> SourceFormat:
    try:
        suffixes = Counter(entry.suffix for entry in path.iterdir())
    except OSError as error:
        raise unreadable(path, error) from error
    if SUFFIXES[0] in suffixes:
        return "nsys-parquet"
    if SUFFIXES[1] in suffixes:
        return "nsys-arrow"
    for suffix in (".nsys-rep", ".qdrep", ".sqlite"):
        if suffixes[suffix]:
            raise InputError(
                f"a folder with {suffixes[suffix]} {suffix} file(s), not an export",
                file=path.name,
                next_step="give the files themselves",
            )
    raise InputError("a folder without Parquet or Arrow files, so not an nsys export", file=path.name, next_step=_GIVE)


def _by_content(sample: bytes, name: str) -> SourceFormat:
    if sample.startswith(SQLITE):
        return "nsys-sqlite"
    if sample.startswith(NSYS_REPORT):
        return "nsys-rep"
    if sample.startswith(NCU_REPORT):
        return "ncu-rep"
    if sample.startswith(GZIP):
        return _unpacked(sample, name)
    if b"NVIDIA Nsight Systems Stream" in sample[:64]:
        raise InputError(
            "a raw capture stream (.qdstrm) that was not turned into a report",
            file=name,
            next_step="import it with QdstrmImporter of the Nsight Systems host package, then give the .nsys-rep",
        )
    for magic, what, then in _FOREIGN:
        if sample.startswith(magic):
            raise InputError(what, file=name, next_step=then)
    return _text(sample, name)


def _unpacked(sample: bytes, name: str) -> SourceFormat:
    inner = _inflated(sample)
    if not inner:
        raise InputError("damaged or empty gzip file", file=name, next_step="copy or capture it again")
    if _is_json(inner):
        return "kineto"
    raise InputError("a gzip archive without a PyTorch trace inside", file=name, next_step="unpack it first (gunzip)")


def _inflated(sample: bytes) -> bytes:
    """What a part of a gzip file holds; nothing when it is damaged."""
    try:
        return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(sample, _SAMPLE_BYTES)
    except zlib.error:
        return b""


def _text(sample: bytes, name: str) -> SourceFormat:
    if _holds_ncu_pages(sample):
        return "ncu-csv"
    if _is_json(sample):
        return "kineto"
    raise InputError("not a trace", file=name, next_step=_GIVE)


def _holds_ncu_pages(sample: bytes) -> bool:
    from stallscope.ingest.ncu_text import looks_like_ncu

    return looks_like_ncu(sample)


def _is_json(sample: bytes) -> bool:
    return sample.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in {b"{", b"["}
