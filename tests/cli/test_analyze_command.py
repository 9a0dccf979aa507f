"""`stallscope analyze` on a real capture: options, outputs, gates, bad input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from program import Run

GRAPH = "h200/py_launch_gaps_graph.sqlite"
ALLOC = "h200/py_alloc_sync.sqlite"


@pytest.fixture
def alloc(repository: Path) -> Path:
    return repository / "sample_traces" / ALLOC


def test_terminal_report_goes_to_stdout_and_nothing_else_does(run: Run, alloc: Path) -> None:
    code, out, err = run("analyze", alloc)
    assert code == 0
    assert " 1 alloc.sync  saves " in out
    assert not err
    assert "\x1b" not in out


def test_json_is_the_document(run: Run, alloc: Path) -> None:
    document = json.loads(run("analyze", alloc, "--format", "json").out)
    assert document["schema_version"] == "1.0"
    assert document["findings"][0]["wait"] == "alloc.sync"
    assert all(sum(device["ledger"].values()) == device["window_ns"] for device in document["devices"])


def test_each_output_takes_the_format_before_it(run: Run, alloc: Path, tmp_path: Path) -> None:
    code, out, err = run("analyze", alloc, "--format", "md", "-o", "c.md", "--format", "csv", "-o", "f", "-o", "r.json")
    assert (code, out) == (0, "")
    assert err.splitlines() == ["wrote c.md", "wrote f", "wrote r.json"]
    assert (tmp_path / "c.md").read_text("utf-8").startswith("<!-- stallscope:")
    assert (tmp_path / "f").read_text("utf-8").startswith('"id"')
    assert json.loads((tmp_path / "r.json").read_text("utf-8"))["findings"]


def test_a_format_without_file_goes_to_stdout_beside_one_with_file(run: Run, alloc: Path, tmp_path: Path) -> None:
    out = run("analyze", alloc, "--format", "json", "--format", "md", "-o", "c.md").out
    assert json.loads(out)
    assert (tmp_path / "c.md").is_file()


def test_html_of_a_trace_draws_its_timeline(run: Run, alloc: Path, tmp_path: Path) -> None:
    assert run("analyze", alloc, "-o", "r.html", "-o", "r.json").code == 0
    assert run("report", "r.json", "-o", "saved.html").code == 0
    assert "<canvas" in (tmp_path / "r.html").read_text("utf-8")
    assert "<canvas" not in (tmp_path / "saved.html").read_text("utf-8")


def test_html_of_kernel_counters_tells_the_kernels(run: Run, repository: Path, tmp_path: Path) -> None:
    counters = repository / "sample_traces" / "ncu" / "h200" / "kern.raw.csv.gz"
    assert run("analyze", counters, "-o", "kernels.html").code == 0
    page = (tmp_path / "kernels.html").read_text("utf-8")
    assert "spill" in page
    assert "<canvas" not in page


def test_folder_of_one_trace_is_that_trace(run: Run, alloc: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ranks"
    folder.mkdir()
    shutil.copyfile(alloc, folder / "rank0.sqlite")
    assert run("analyze", folder, "-o", "r.html").code == 0
    assert "<canvas" in (tmp_path / "r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "md", "--format", "json"), "two reports would go to stdout"),
        (("-o", "a.json", "-o", "a.json"), "two reports would go to a.json"),
        (("--format", "pdf"), "no format 'pdf'"),
        (("-o", "missing/a.json"), "cannot write the report"),
        (("--fail-on", "alloc.sync"), "--fail-on 'alloc.sync' has no '>'"),
        (("--range", "2s:1s"), "ends before it begins"),
        (("--range", "1.5:2"), "is not a time"),
        (("--range", "5"), "has no ':'"),
        (("--plan", "0"), "--plan"),
    ],
)
def test_contradictions_are_usage_errors(run: Run, alloc: Path, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = run("analyze", alloc, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_report_never_replaces_its_trace(run: Run, alloc: Path, tmp_path: Path) -> None:
    trace = tmp_path / "t.sqlite"
    shutil.copyfile(alloc, trace)
    before = trace.read_bytes()
    code, _, err = run("analyze", trace, "-o", trace)
    assert code == 2
    assert "would replace the trace" in err
    assert trace.read_bytes() == before


def test_nothing_is_written_beside_the_trace(run: Run, alloc: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    shutil.copyfile(alloc, folder / "t.sqlite")
    assert run("analyze", folder / "t.sqlite").code == 0
    assert [file.name for file in folder.iterdir()] == ["t.sqlite"]


@pytest.mark.parametrize(
    ("condition", "code"), [("alloc.sync>90%", 0), ("alloc.sync>1%", 1), ("alloc.*>1ms", 1), ("idle>99%", 0)]
)
def test_fail_on_decides_the_exit_code(run: Run, alloc: Path, condition: str, code: int) -> None:
    found = run("analyze", alloc, "--fail-on", condition)
    assert found.code == code
    assert "\nBudgets\n" in found.out


def test_failed_gate_is_said_on_stderr_when_no_text_report_says_it(run: Run, alloc: Path) -> None:
    code, out, err = run("analyze", alloc, "--format", "json", "--fail-on", "alloc.sync>1%")
    assert code == 1
    assert json.loads(out)
    assert err.startswith("budget fail: alloc.sync ≤ 1.0 %")


def test_budgets_file(run: Run, alloc: Path, tmp_path: Path) -> None:
    (tmp_path / "b.toml").write_text('[budgets]\n"alloc.sync" = "1 %"\n', "utf-8")
    assert run("analyze", alloc, "--budgets", "b.toml").code == 1
    assert run("analyze", alloc, "--budgets", "missing.toml").code == 3


def test_settings_file_of_the_working_directory_counts(run: Run, alloc: Path, tmp_path: Path) -> None:
    (tmp_path / "stallscope.toml").write_text('fail-on = ["alloc.sync>1%"]\n', "utf-8")
    assert run("analyze", alloc).code == 1
    (tmp_path / "stallscope.toml").write_text("fail-onn = []\n", "utf-8")
    assert run("analyze", alloc).code == 2


def test_invisible_graph_replays_refuse_the_verdict_and_strict_says_5(run: Run, repository: Path) -> None:
    graph = repository / "sample_traces" / GRAPH
    code, out, _ = run("analyze", graph)
    assert code == 0
    assert "Cannot tell how long the GPU waited" in " ".join(out.split())
    assert "ealthy" not in out
    assert run("analyze", graph, "--strict").code == 5


def test_range_restricts_the_window(run: Run, alloc: Path) -> None:
    whole = json.loads(run("analyze", alloc, "--format", "json").out)["devices"][0]
    middle = whole["start_ns"] + whole["window_ns"] // 2
    half = json.loads(run("analyze", alloc, "--format", "json", "--range", f"{middle}:").out)["devices"][0]
    assert half["window_ns"] == whole["start_ns"] + whole["window_ns"] - middle


def test_nvtx_restricts_the_window_to_those_ranges(run: Run, alloc: Path) -> None:
    whole = json.loads(run("analyze", alloc, "--format", "json").out)["devices"][0]
    steps = json.loads(run("analyze", alloc, "--format", "json", "--nvtx", "step").out)["devices"][0]
    assert 0 < steps["window_ns"] < whole["window_ns"]


def test_plan_spells_out_experiments(run: Run, alloc: Path) -> None:
    out = run("analyze", alloc, "--plan", "1").out
    assert "\nPlan: one change at a time" in out
    assert out.count("refuted if") == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.sqlite", b""),
        ("noise.sqlite", bytes(range(256)) * 40),
        ("truncated.sqlite", None),
        ("prose.nsys-rep", b"hello, this is no report\n" * 100),
    ],
)
def test_unreadable_input_exits_3_and_names_the_file(
    run: Run, alloc: Path, tmp_path: Path, name: str, content: bytes | None
) -> None:
    (tmp_path / name).write_bytes(alloc.read_bytes()[:20_000] if content is None else content)
    code, out, err = run("analyze", tmp_path / name)
    assert code == 3
    assert not out
    assert name in err
    assert "next: " in err


@pytest.mark.parametrize("name", ["missing.sqlite", "."])
def test_absent_files_and_plain_folders_exit_3(run: Run, name: str) -> None:
    code, out, err = run("analyze", name)
    assert (code, out) == (3, "")
    assert "file: " in err
