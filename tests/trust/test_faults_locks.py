"""A file system without locks, as some NFS mounts are: every request for one fails with ENOLCK."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REFUSING_LOCKS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
static int refused(int command) { return command == F_SETLK || command == F_SETLKW; }
#define REFUSE(NAME) int NAME(int file, int command, ...) { \\
    va_list rest; va_start(rest, command); void *argument = va_arg(rest, void *); va_end(rest); \\
    if (refused(command)) { errno = ENOLCK; return -1; } \\
    return ((int (*)(int, int, ...))dlsym(RTLD_NEXT, #NAME))(file, command, argument); }
REFUSE(fcntl)
REFUSE(fcntl64)
int flock(int file, int operation) { (void)file; (void)operation; errno = ENOLCK; return -1; }
"""


@pytest.fixture(scope="module")
def without_locks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment in which no program gets a lock."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs Linux and a C compiler: a file system without locks is not simulated")
    folder = tmp_path_factory.mktemp("locks")
    (folder / "refusing.c").write_text(REFUSING_LOCKS, "ascii")
    library = folder / "refusing.so"
    command = [compiler, "-shared", "-fPIC", folder / "refusing.c", "-o", library, "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return {**os.environ, "LD_PRELOAD": str(library), "STALLSCOPE_CACHE_DIR": str(folder / "cache")}


def run(environment: dict[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stallscope", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_locks_are_refused_there(without_locks: dict[str, str], tmp_path: Path) -> None:
    lock = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'w'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    ran = subprocess.run(
        [sys.executable, "-c", lock, tmp_path / "x"], env=without_locks, capture_output=True, text=True, check=False
    )
    assert "No locks available" in ran.stderr


def test_traces_are_read_and_kept_without_locks(without_locks: dict[str, str], repository: Path) -> None:
    trace = repository / "sample_traces" / "h200" / "py_alloc_sync.sqlite"
    first, second = (run(without_locks, "analyze", trace) for _ in range(2))
    assert first.returncode == second.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert " 1 alloc.sync" in first.stdout


def test_history_without_locks_is_refused_with_a_way_out(
    without_locks: dict[str, str], repository: Path, tmp_path: Path
) -> None:
    trace = repository / "sample_traces" / "h200" / "py_alloc_sync.sqlite"
    document = tmp_path / "a.json"
    assert run(without_locks, "analyze", trace, "-o", document).returncode == 0
    environment = {**without_locks, "STALLSCOPE_HISTORY": str(tmp_path / "history.sqlite")}
    ran = run(environment, "history", "add", document, "--series", "s", "--commit", "1a2b3c4")
    assert ran.returncode in {3, 4}, ran.stderr
    assert "STALLSCOPE_HISTORY" in ran.stderr
    assert "Traceback" not in ran.stderr
