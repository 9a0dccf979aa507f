"""The profilers on this machine: where they are and which version they say they are."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 20
_VERSION = re.compile(r"version\s+(\d[\w.]*(?:-\w+)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Program:
    """One profiler. `version` is empty when the program did not say; `fault` tells why it does not run."""

    name: str
    path: Path
    version: str = ""
    fault: str = ""


def find_program(name: str, configured: str | None = None) -> Program | None:
    """`nsys` or `ncu` from the setting, else from PATH; None when it is not installed.

    A configured program that does not exist gives a `Program` with a fault, not the one on PATH.
    """
    found = shutil.which(configured or name)
    if found is None:
        return Program(name, Path(configured), fault="no such program") if configured else None
    path = Path(found)
    try:
        ran = subprocess.run(  # noqa: S603 - the user's own profiler, without a shell
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Program(name, path, fault=f"gives no answer within {TIMEOUT_S} s")
    except OSError as error:
        return Program(name, path, fault=(error.strerror or "does not start").lower())
    if ran.returncode != 0:
        return Program(name, path, fault=_first_line(ran.stderr or ran.stdout) or f"fails with code {ran.returncode}")
    version = _VERSION.search(ran.stdout)
    return Program(name, path, version=version[1] if version else "")


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
