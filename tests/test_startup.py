"""Start-up: commands that only talk start fast, because they import nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from processor_time import processor_s

from stallscope.ingest.sqlite_library import library

HEAVY = {
    "adbc_driver_sqlite", "dash", "distributed", "jinja2", "numpy", "pandas", "plotly", "polars", "pyarrow", "pynvml",
    "rich.console", "sqlite3", "sqlite_utils", "torch",
}  # fmt: skip
FRAMES = {"adbc_driver_sqlite", "pandas", "polars", "pyarrow"}
LIMIT_S = 0.25
PROBE = """
import json, sys
from stallscope.cli.main import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def modules_after(*arguments: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    code, modules = json.loads(ran.stderr.splitlines()[-1])
    assert code == 0
    return set(modules)


@pytest.mark.parametrize(
    "arguments", [("--help",), ("--version",), ("analyze", "--help"), ("schema",), ("completion", "zsh")]
)
def test_talking_commands_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not modules_after(*arguments) & HEAVY


def test_reading_a_report_imports_no_data_engine(tmp_path: Path) -> None:
    document = tmp_path / "report.json"
    document.write_text(
        '{"schema_version": "1.0", "sources": [{"name": "t", "sha256": "0", "format": "nsys-sqlite"}]}', "utf-8"
    )
    assert not modules_after("report", str(document), "--format", "json") & (HEAVY - {"rich.console"})


def test_an_export_is_analyzed_without_data_frames() -> None:
    """A quarter of what the analysis of a small trace takes would be the import of polars."""
    export = Path(__file__).parent.parent / "sample_traces" / "alloc" / "cached.sqlite"
    frames = modules_after("analyze", str(export), "--no-cache", "--format", "json") & FRAMES
    assert bool(frames) is (library() is None)  # without the page decoder exports are read through Arrow and polars


def test_importing_the_package_imports_nothing_heavy() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import json, sys, stallscope; print(json.dumps(sorted(sys.modules)))"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert not set(json.loads(ran.stdout)) & HEAVY


def test_help_starts_within_its_budget() -> None:
    assert processor_s("-m", "stallscope", "--help") < LIMIT_S
