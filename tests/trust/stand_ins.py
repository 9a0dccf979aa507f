"""Programs that stand in for nsys, and file systems that are full or read-only."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest

REPORT = b"NVIDIA Tegra Profiler Report 2023@4@4@54-234433681190v0.\n" + b"content" * 100
TRACE = Path(__file__).resolve().parents[2] / "sample_traces" / "h200" / "py_alloc_sync.sqlite"


def fake_nsys(path: Path, export: str) -> Path:
    """Answers --version as nsys does and otherwise runs `export` with $OUT set to the output path."""
    path.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems version 2023.4.4.54-v0"; exit 0; fi\n'
        'while [ $# -gt 1 ]; do [ "$1" = --output ] && OUT="$2"; shift; done\n'
        f"{export}\n"
    )
    path.chmod(0o755)
    return path


def program(cache: Path, *arguments: object) -> list[str]:
    """The command line of a whole analysis in a process of its own, with its own cache."""
    del cache
    return [sys.executable, "-m", "stallscope", *map(str, arguments)]


def environment(cache: Path, **more: str) -> dict[str, str]:
    """The environment of such a process."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STALLSCOPE_")}
    return {**kept, "STALLSCOPE_CACHE_DIR": str(cache), "NO_COLOR": "1", **more}


def full(*_: Any, **__: Any) -> NoReturn:
    """What the operating system says when a disk is full."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def read_only(*_: Any, **__: Any) -> NoReturn:
    """What it says on a read-only file system."""
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    """A small file system of its own; skips where mounting is not allowed."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)
