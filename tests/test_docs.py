"""The documentation keeps up with the code: fields, exit codes, links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stallscope.api import Options, analyze
from stallscope.cli import _failures
from stallscope.errors import InconclusiveError, InputError, ToolMissingError, UsageError
from stallscope.gates import GateResult, exit_code
from stallscope.gates.budgets import parse_condition
from stallscope.ingest.open import OpenOptions
from stallscope.schema.generate import schema
from stallscope.views.pages import wait_pages

HEADINGS = ["What it means", "How it is detected", "When it is wrong", "What to try next"]
GATE_FAILED = exit_code([GateResult(budget=parse_condition("idle>1%"), state="fail", value=1, reason="")])


def pages(repository: Path) -> list[Path]:
    return [*sorted((repository / "docs").rglob("*.md")), *sorted(repository.glob("*.md"))]


def test_every_field_of_the_document_is_described(repository: Path) -> None:
    text = (repository / "docs" / "report.md").read_text("utf-8")
    fields = {field for definition in schema()["$defs"].values() for field in definition["properties"]}
    assert not {field for field in fields if f"`{field}`" not in text}


@pytest.mark.parametrize("trace", ["py_alloc_sync", "py_gpt_train", "py_launch_gaps_graph", "cu_uvm", "cu_queue"])
def test_every_id_that_a_report_prints_can_be_explained(repository: Path, trace: str) -> None:
    opening = OpenOptions(use_cache=False)
    analysis = analyze(
        repository / "sample_traces" / "h200" / f"{trace}.sqlite", Options(opening=opening, everything=True)
    )
    printed = {wait for device in analysis.devices for wait in device.ledger}
    printed |= {finding.wait for finding in analysis.findings} | {note.id for note in analysis.capture.notes}
    assert printed <= wait_pages().keys()


def test_every_page_of_an_id_has_the_four_headings() -> None:
    for wait, page in wait_pages().items():
        lines = page.read_text("utf-8").splitlines()
        assert lines[0] == f"# {wait}"
        assert [line[3:] for line in lines if line.startswith("## ")] == HEADINGS, wait


def test_exit_codes_are_the_documented_ones(repository: Path) -> None:
    text = (repository / "docs" / "exit-codes.md").read_text("utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    raised = {error.exit_code for error in (UsageError, InputError, ToolMissingError, InconclusiveError)}
    own = {_failures.EXIT_INTERNAL, _failures.EXIT_INTERRUPTED, _failures.EXIT_PIPE_CLOSED}
    assert documented == {0, GATE_FAILED} | raised | own


def test_links_between_pages_lead_somewhere(repository: Path) -> None:
    for page in pages(repository):
        for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#\s]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


@pytest.mark.parametrize("target", ["demo", "test", "check", "format"])
def test_make_targets_that_the_documentation_names_exist(repository: Path, target: str) -> None:
    assert f"\n{target}:" in (repository / "Makefile").read_text("utf-8")
    assert f"make {target}" in "".join(page.read_text("utf-8") for page in pages(repository))
