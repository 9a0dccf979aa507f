"""`diff`, `numerics` and `history` as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stallscope.cli.main import main


@pytest.fixture(scope="module")
def samples(repository: Path) -> Path:
    return repository / "sample_traces" / "h200"


@pytest.fixture
def report(samples: Path, tmp_path: Path) -> Path:
    assert main(["analyze", str(samples / "cu_alloc.sqlite"), "-o", str(tmp_path / "a.json")]) == 0
    return tmp_path / "a.json"


def test_graph_replay_is_an_improvement_and_confirms_its_prediction(
    samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, head = samples / "py_launch_gaps.sqlite", samples / "py_launch_gaps_graph_node.sqlite"
    assert main(["diff", str(base), "--to", str(head), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "improved"
    assert found["step"]["low_ns"] < found["step"]["delta_ns"] < found["step"]["high_ns"] < 0
    assert found["waits"]["launch.gap"]["verdict"] == "improved"
    assert [p["verdict"] for p in found["predictions"] if p["wait"] == "launch.gap"] == ["confirmed"]


def test_several_paths_a_side_as_a_shell_writes_them(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Five captures, told apart by their content; the first is given twice and counts once."""
    runs = []
    for number in range(5):
        document = json.loads(report.read_text())
        document["sources"][0]["sha256"] = f"{number:064x}"
        runs.append(report.with_name(f"{number}.json"))
        runs[-1].write_text(json.dumps(document))
    sides = [runs[0], runs[0], runs[1], "--to", *runs[2:], "--format", "json"]
    assert main(["diff", *map(str, sides)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["base"]["runs"], found["head"]["runs"], found["verdict"]) == (2, 3, "unchanged")
    assert any("given more than once" in reason["message"] for reason in found["reasons"])


def test_other_program_is_not_comparable_and_strict_says_so(samples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = [str(samples / "cu_alloc.sqlite"), "--to", str(samples / "cu_queue.sqlite")]
    assert main(["diff", *sides, "--format", "md"]) == 0
    assert "not comparable" in capsys.readouterr().out
    assert main(["diff", *sides, "--strict"]) == 5


def test_regression_fails_only_when_asked_to(samples: Path, tmp_path: Path) -> None:
    sides = [str(samples / "py_launch_gaps_graph_node.sqlite"), "--to", str(samples / "py_launch_gaps.sqlite")]
    assert main(["diff", *sides, "-o", str(tmp_path / "d.md")]) == 0
    assert "**regressed**" in (tmp_path / "d.md").read_text()
    assert main(["diff", *sides, "-o", str(tmp_path / "d.json"), "--fail-on-regression"]) == 1


def test_missing_side_is_a_usage_error(report: Path) -> None:
    assert main(["diff", str(report)]) == 2


def test_numerics_gate_by_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, off = np.ones((4, 4), np.float32), np.ones((4, 4), np.float32)
    off[0, 0] = np.nextafter(np.float32(1), np.float32(2))
    np.savez(tmp_path / "base.npz", c=good)
    np.savez(tmp_path / "same.npz", c=good)
    np.savez(tmp_path / "off.npz", c=off)
    base, same, off_ = (str(tmp_path / f"{name}.npz") for name in ("base", "same", "off"))
    assert main(["numerics", base, same, same, "--class", "bit-identical"]) == 0
    assert main(["numerics", base, same, off_, "--class", "bit-identical"]) == 1
    assert "valid.race" in capsys.readouterr().out
    assert main(["numerics", base, off_, "--class", "kernel", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True
    assert main(["numerics", base, str(tmp_path / "none.npz"), "--class", "kernel"]) == 3


def test_failed_gate_invalidates_predictions(samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "a.npz", c=np.zeros(3))
    np.savez(tmp_path / "b.npz", c=np.ones(3))
    gate = str(tmp_path / "gate.json")
    assert main(["numerics", str(tmp_path / "a.npz"), str(tmp_path / "b.npz"), "--class", "kernel", "-o", gate]) == 1
    sides = [str(samples / "py_launch_gaps.sqlite"), "--to", str(samples / "py_launch_gaps_graph_node.sqlite")]
    capsys.readouterr()
    assert main(["diff", *sides, "--numerics", gate, "--format", "json"]) == 0
    assert {p["verdict"] for p in json.loads(capsys.readouterr().out)["predictions"]} == {"invalid"}


def test_history_round_trip_and_diff_against_a_baseline(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STALLSCOPE_HISTORY", str(tmp_path / "h" / "history.sqlite"))
    assert main(["history", "add", str(report), "--series", "alloc", "--commit", "abc1234", "--baseline", "main"]) == 0
    assert main(["history", "list"]) == 0
    assert "abc1234     alloc" in capsys.readouterr().out
    assert main(["history", "trend", "alloc", "alloc.sync"]) == 0
    assert "µs a step [main]" in capsys.readouterr().out
    assert main(["diff", "history:main", "--to", str(report), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "unchanged"
    assert main(["history", "show", "main"]) == 0
    assert capsys.readouterr().out == report.read_text()
    assert main(["history", "trend", "nothing"]) == 2
    assert main(["history", "forget", "1"]) == 0
    assert main(["diff", "history:main", "--to", str(report)]) == 2
