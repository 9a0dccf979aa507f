"""Runs the program in this process, in a folder of its own, with nothing of the user's settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from program import Outcome, Run

from stallscope.cli.main import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Call it with the words of a command line."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "STALLSCOPE_NSYS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STALLSCOPE_CACHE_DIR", str(tmp_path / "cache"))

    def invoke(*arguments: object) -> Outcome:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return invoke
