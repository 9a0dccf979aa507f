"""Commands that read what is there: report, explain, doctor, rules, schema."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from program import Run

from stallscope.capture.machine import Condition
from stallscope.waits.catalogue import all_rules


@pytest.fixture
def alloc(repository: Path) -> Path:
    return repository / "sample_traces" / "h200" / "py_alloc_sync.sqlite"


@pytest.fixture
def document(run: Run, alloc: Path, tmp_path: Path) -> Path:
    assert run("analyze", alloc, "-o", "report.json").code == 0
    return tmp_path / "report.json"


def test_report_renders_what_analyze_renders(run: Run, alloc: Path, document: Path) -> None:
    text = run("report", document).out
    assert text.replace(document.name, alloc.name) == run("analyze", alloc).out
    assert run("report", document, "--format", "md").out == run("analyze", alloc, "--format", "md").out
    assert run("report", document, "--format", "json").out == document.read_text("utf-8")


def test_report_reads_stdin(run: Run, document: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(document.read_bytes()), "utf-8")
    monkeypatch.setattr("sys.stdin", stdin)
    assert " 1 alloc.sync " in run("report", "-").out


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "the file is empty"),
        ("{}", "not a stallscope report"),
        ("[1, 2]", "not a stallscope report: Expected `object`"),
        ('{"traceEvents": []}', "not a stallscope report"),
        ("[" * 100_000, "not a stallscope report"),
        ('{"schema_version": "2.0", "sources": [{"name": "a", "sha256": "b", "format": "kineto"}]}', "version 2.0"),
    ],
)
def test_report_refuses_other_documents(run: Run, tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "x.json").write_text(text, "utf-8")
    code, out, err = run("report", "x.json")
    assert (code, out) == (3, "")
    assert what in err
    assert "file: x.json" in err


def test_explain_finding_shows_everything_the_document_holds(run: Run, document: Path) -> None:
    finding = json.loads(document.read_text("utf-8"))["findings"][0]
    code, out, _ = run("explain", finding["id"], document)
    assert code == 0
    for heading in ("Evidence", "Where", "When", "What to try next"):
        assert f"\n{heading}" in out
    for experiment in finding["experiments"]:
        assert experiment["title"] in out
        assert all(line in out for apply in experiment["apply"] for line in apply.splitlines())


def test_explain_takes_the_trace_itself_and_a_wait_id(run: Run, alloc: Path, document: Path) -> None:
    assert run("explain", "alloc.sync", alloc).out == run("explain", "alloc.sync", document).out


def test_explain_finding_needs_to_know_where(run: Run) -> None:
    code, out, err = run("explain", "F-12ab")
    assert (code, out) == (2, "")
    assert "stallscope explain F-12ab REPORT.json|TRACE" in err


def test_explain_names_the_findings_there_are(run: Run, document: Path) -> None:
    code, _, err = run("explain", "F-000000", document)
    assert code == 2
    assert "(alloc.sync)" in err


def test_explain_suggests_the_wait_that_was_meant(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = tmp_path / "alloc.sync.md"
    page.write_text("# alloc.sync\n\n## What it means\n", "utf-8")
    monkeypatch.setattr("stallscope.views.pages.wait_pages", lambda: {"alloc.sync": page})
    assert run("explain", "alloc.sync").out == "# alloc.sync\n\n## What it means\n"
    assert "did you mean alloc.sync?" in run("explain", "alloc.snyc").err


def test_doctor_on_a_trace_names_the_flag_for_what_is_missing(run: Run, alloc: Path) -> None:
    code, out, _ = run("doctor", alloc)
    assert code == 0
    recorded, _, missing = out.partition("\nMissing\n")
    assert "■ Kernels" in recorded
    assert " rows (CUPTI_ACTIVITY_KIND_KERNEL)" in recorded
    assert "□ OS calls" in missing
    assert "    → profile with --trace=cuda,nvtx,osrt\n" in missing


def test_doctor_on_the_machine_prints_conditions_with_remedies(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Condition("nsys", "ok", "2023.4.4"), Condition("disk", "limited", "1.0 GiB free", "free some")]
    monkeypatch.setattr("stallscope.capture.machine.conditions", lambda *_: iter(found))
    lines = run("doctor").out.splitlines()
    assert lines[:3] == ["■ nsys  2023.4.4", "□ disk  1.0 GiB free", "    → free some"]


def test_doctor_really_looks_at_this_machine(run: Run) -> None:
    code, out, _ = run("doctor")
    assert code == 0
    assert {line.split()[1] for line in out.splitlines() if line[0] in "■□"} >= {
        "nsys",
        "ncu",
        "driver",
        "disk",
        "Python",
    }


def test_rules_lists_every_rule(run: Run) -> None:
    rows = json.loads(run("rules", "--format", "json").out)
    assert [row["id"] for row in rows] == [rule.meta.id for rule in all_rules()]
    text = run("rules").out
    assert all(f"  {rule.meta.id} " in text for rule in all_rules())


def test_schema_describes_the_document(run: Run, document: Path) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads(run("schema").out)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator(schema).validate(json.loads(document.read_text("utf-8")))
