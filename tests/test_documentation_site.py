"""The site builds with every warning an error: dead links and anchors, and pages without an entry, fail here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built pages."""
    pytest.importorskip("mkdocs", reason="mkdocs is not installed: the site is not built")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", folder]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    ran = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder


def test_every_page_is_in_the_site(site: Path, repository: Path) -> None:
    pages = {page.relative_to(repository / "docs").with_suffix(".html") for page in (repository / "docs").rglob("*.md")}
    assert {page for page in pages if not (site / page).is_file()} == set()
    assert (site / "CHANGELOG.html").is_file()
    assert (site / "stallscope" / "schema" / "analysis-1.0.json").is_file()


def test_navigation_has_one_entry_a_wait(site: Path, repository: Path) -> None:
    text = (site / "index.html").read_text("utf-8")
    waits = {page.stem for page in (repository / "docs" / "waits").glob("*.md")}
    assert waits == set(re.findall(r'href="waits/([\w.]+)\.html"', text))


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loads = re.findall(
            r'<(?:script|link|img|iframe)[^>]*\s(?:src|href)="(https?://[^"]+)"', page.read_text("utf-8")
        )
        assert loads == [], page.name


def test_tutorial_shows_what_its_commands_print(repository: Path) -> None:
    command = [sys.executable, repository / "tools" / "tutorial.py", "--check"]
    assert subprocess.run(command, timeout=120, check=False).returncode == 0, "run `make readme`"


def test_code_that_the_page_of_numbers_names_exists(repository: Path) -> None:
    text = (repository / "docs" / "numbers.md").read_text("utf-8")
    named = re.findall(r"`((?:timeline|waits|views|experiments|kernels)/[\w./]*)`", text)
    assert len(named) > 20
    assert [name for name in named if not (repository / "stallscope" / name).exists()] == []
