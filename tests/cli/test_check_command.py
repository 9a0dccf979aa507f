"""`stallscope check`: exit codes, sources of budgets, formats, start-up."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from processor_time import processor_s
from program import Run

from stallscope.model.analysis import Analysis, DeviceLedger, Source
from stallscope.model.findings import Check

LIMIT_S = 0.25


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    ledger = {"ok.compute": 800, "alloc.sync": 150, "launch.gap": 50}
    device = DeviceLedger(device="GPU 0", uuid="", name="", window_ns=1000, busy_ns=800, idle_ns=200, ledger=ledger)
    checks = (
        Check(wait="alloc.sync", outcome="found"),
        Check(wait="launch.gap", outcome="found"),
        Check(wait="uvm.fault_gpu", outcome="not_applicable", reason="faults not collected"),
    )
    source = Source(name="t.sqlite", sha256="00", format="nsys-sqlite")
    file = tmp_path / "report.json"
    file.write_text(Analysis(sources=(source,), devices=(device,), checks=checks).to_json(), encoding="utf-8")
    return file


def test_budget_kept_exits_0_and_says_so(run: Run, saved: Path) -> None:
    outcome = run("check", saved, "--fail-on", "alloc.sync>20%")
    assert (outcome.code, outcome.out) == (0, "within  alloc.sync ≤ 20.0 %: measured 15.0 %\n")


def test_budget_exceeded_exits_1_and_says_by_how_much(run: Run, saved: Path) -> None:
    outcome = run("check", saved, "--fail-on", "alloc.sync>100ns", "--fail-on", "launch.gap>50ns")
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "OVER    alloc.sync ≤ 100 ns: 150 ns is over by 50 ns",
        "within  launch.gap ≤ 50 ns: measured 50 ns",
    ]


def test_undecided_budget_exits_0_and_5_under_strict(run: Run, saved: Path) -> None:
    outcome = run("check", saved, "--fail-on", "uvm.fault_gpu>0ns")
    assert outcome.code == 0
    assert "unclear uvm.fault_gpu ≤ 0 ns: uvm.fault_gpu was not checked: faults not collected" in outcome.out
    assert run("check", saved, "--fail-on", "uvm.fault_gpu>0ns", "--strict").code == 5


def test_budgets_come_from_the_named_file(run: Run, saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "limits.toml"
    file.write_text('[budgets]\n"alloc.*" = "1 %"\n', encoding="utf-8")
    assert run("check", saved, "--budgets", file).code == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("stallscope.toml", '[budgets]\n"alloc.sync" = "1 %"\n'),
        ("pyproject.toml", '[tool.stallscope.budgets]\n"alloc.sync" = { max_share = 0.01 }\n'),
        ("stallscope.toml", 'fail-on = ["alloc.sync>1%"]\n'),
    ],
)
def test_budgets_come_from_the_project(run: Run, saved: Path, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run("check", saved).code == 1


def test_without_a_budget_it_is_a_usage_error(run: Run, saved: Path) -> None:
    outcome = run("check", saved)
    assert outcome.code == 2
    assert "no budget to check" in outcome.err


def test_reports_carry_the_verdicts(run: Run, saved: Path, tmp_path: Path) -> None:
    gate = ("--fail-on", "alloc.sync>1%")
    outcome = run("check", saved, *gate, "--format", "junit", "-o", tmp_path / "t.xml", "-o", tmp_path / "c.md")
    assert outcome.code == 1
    suite = ET.fromstring((tmp_path / "t.xml").read_text("utf-8")).find("testsuite")  # noqa: S314 - our own document
    assert suite is not None
    assert suite.attrib["failures"] == "1"
    assert "### stallscope: 1 exceeded" in (tmp_path / "c.md").read_text("utf-8")


@pytest.mark.parametrize("text", ["", "{}", "[]", "not json", json.dumps({"findings": 3})])
def test_what_is_no_report_exits_3_and_names_the_file(run: Run, tmp_path: Path, text: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text, encoding="utf-8")
    outcome = run("check", file, "--fail-on", "alloc.sync>1%")
    assert outcome.code == 3
    assert "other.json" in outcome.err


def test_check_starts_within_its_budget_without_data_engines(saved: Path) -> None:
    words = [sys.executable, "-X", "importtime", "-m", "stallscope", "check", str(saved), "--fail-on", "alloc.sync>90%"]
    ran = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    imported = {line.rsplit("|", 1)[-1].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    assert not imported & {"numpy", "polars", "pandas", "pyarrow", "jinja2"}
    assert processor_s(*words[3:]) < LIMIT_S
