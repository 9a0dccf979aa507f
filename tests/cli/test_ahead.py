"""What an analysis needs is imported while a long trace is read, and not beside a short one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stallscope.cli import _ahead
from stallscope.cli._ahead import importing

SHOW = """
import sys, threading
from pathlib import Path
from stallscope.cli import _ahead
_ahead._LONG_BYTES = 1
told = _ahead.importing(Path(sys.argv[1]), lambda stage, done: print(stage, done))
told("hashing", None)
assert "stallscope.api" not in sys.modules
told("reading", 0.1)
told("reading", 0.2)
[thread] = [thread for thread in threading.enumerate() if thread.name == "imports ahead"]
thread.join()
assert {"stallscope.api", "stallscope.ranks", "stallscope.waits.rules.launch_gap"} <= set(sys.modules)
"""


def heard(stage: str, done: float | None) -> None:
    """Nothing happens."""
    del stage, done


def test_short_files_folders_and_missing_ones_are_left_alone(tmp_path: Path) -> None:
    short = tmp_path / "short.sqlite"
    short.write_bytes(b"x")
    assert all(importing(path, heard) is heard for path in (short, tmp_path, tmp_path / "absent"))


def test_long_files_bring_the_rules_once_reading_begins(tmp_path: Path) -> None:
    long = tmp_path / "long.sqlite"
    long.write_bytes(b"x")
    ran = subprocess.run([sys.executable, "-c", SHOW, long], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["hashing None", "reading 0.1", "reading 0.2"]


def test_what_cannot_be_imported_is_left_to_who_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stallscope.waits.catalogue", None)
    _ahead._import_analysis()
