"""Which compiled library belongs to the C sources beside it."""

from __future__ import annotations

import ctypes
import os
import zlib
from pathlib import Path


def source_tag(folder: Path) -> str:
    """Checksum of the C files of a folder, in eight hexadecimal digits. `hatch_build.py` puts it into the name.

    A library that was built from other sources would be called with the wrong arguments; by its name it is not found.
    """
    checksum = 0
    for path in sorted([*folder.glob("*.c"), *folder.glob("*.h")]):
        checksum = zlib.crc32(path.read_bytes(), checksum)
    return f"{checksum:08x}"


def load(folder: Path, stem: str) -> ctypes.CDLL | None:
    """`<folder>/<stem>.<tag>.so`, or None where it was not built or is switched off (STALLSCOPE_PURE)."""
    if os.environ.get("STALLSCOPE_PURE"):
        return None
    library = folder / f"{stem}.{source_tag(folder)}.so"
    try:
        return ctypes.CDLL(str(library)) if library.is_file() else None
    except OSError:
        return None
