"""The wheel holds everything that an installed stallscope reads: pages, templates, schema, compiled or not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

hatchling = pytest.importorskip("hatchling", reason="hatchling is not installed: no wheel is built")
BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"

PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
import stallscope
assert stallscope.__file__.startswith(sys.path[0])
from stallscope.cli.main import main
sys.exit(main())
"""


@pytest.fixture(scope="module")
def installed(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    environment = {**os.environ, "STALLSCOPE_PURE": "1"}
    command = [sys.executable, "-c", BUILD, folder]
    ran = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=True)
    with ZipFile(folder / ran.stdout.split()[-1]) as wheel:
        wheel.extractall(folder / "installed")
    return folder / "installed"


def run(installed: Path, *arguments: str | Path) -> str:
    """Output of the installed program, which must not see the checkout."""
    command = [sys.executable, "-c", PROGRAM, installed, *arguments]
    return subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=120, check=True).stdout


def test_every_data_file_of_the_package_is_in_it(installed: Path, repository: Path) -> None:
    data = {".css", ".html", ".js", ".json", ".svg", ".toml"}
    for package in ("stallscope", "dashboards/stallscope_dashboard", "probes/stallscope_probes"):
        source, target = repository / package, installed / Path(package).name
        files = {
            file.relative_to(source) for file in source.rglob("*") if file.suffix in data or file.name == "py.typed"
        }
        assert {file for file in files if not (target / file).is_file()} == set()


def test_pages_of_the_waits_are_in_it(installed: Path, repository: Path) -> None:
    pages = {file.name for file in (repository / "docs" / "waits").glob("*.md")}
    assert {file.name for file in (installed / "stallscope" / "docs" / "waits").glob("*.md")} == pages
    assert run(installed, "explain", "alloc.sync").startswith("# alloc.sync\n")


def test_installed_program_writes_every_kind_of_report(installed: Path, repository: Path, tmp_path: Path) -> None:
    trace = repository / "sample_traces" / "h200" / "py_alloc_sync.sqlite"
    html, document = tmp_path / "r.html", tmp_path / "r.json"
    run(installed, "analyze", "--no-cache", trace, "-o", html, "-o", document)
    assert "alloc.sync" in html.read_text("utf-8")
    assert " 1 alloc.sync" in run(installed, "report", document)
    assert run(installed, "schema") == (repository / "stallscope/schema/analysis-1.0.json").read_text("utf-8")
