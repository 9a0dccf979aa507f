"""The GitHub Actions of this repository: their steps run as GitHub runs them, with stand-ins for what is outside."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed: the actions are not run")

SHA = "0123456789abcdef0123456789abcdef01234567"
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")


@dataclass
class Runner:
    """Executes the `run` steps of a composite action; expressions stand in `env` only, never in scripts."""

    action: dict[str, Any]
    folder: Path
    trace: Path
    inputs: dict[str, str] = field(default_factory=dict)

    def values(self) -> dict[str, str]:
        known = {f"inputs.{name}": spec.get("default", "") for name, spec in self.action["inputs"].items()}
        known |= {f"inputs.{name}": value for name, value in self.inputs.items()}
        return {**known, "github.action_path": "/action", "github.repository": "owner/repo"}

    def step(self, name: str) -> subprocess.CompletedProcess[str]:
        step = next(step for step in self.action["runs"]["steps"] if step["name"] == name)
        assert "${{" not in step["run"], "an expression inside a script is an injection"
        values = self.values()
        own = {key: EXPRESSION.sub(lambda found: values[found[1]], text) for key, text in step.get("env", {}).items()}
        files = {f"GITHUB_{name}": str(self.folder / name.lower()) for name in ("OUTPUT", "STEP_SUMMARY")}
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        environment = {**os.environ, **files, "RUNNER_TEMP": str(self.folder / "temp"), "PATH": path, **own}
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    @property
    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "output").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)


def runner(repository: Path, folder: Path, action: str) -> Runner:
    bin_ = folder / "temp/stallscope/bin"
    bin_.mkdir(parents=True)
    (folder / "bin").mkdir()
    executable(bin_ / "stallscope", f'#!/bin/sh\nexec "{sys.executable}" -m stallscope "$@"\n')
    trace = folder / "a trace.sqlite"
    shutil.copy(repository / "sample_traces/h200/py_alloc_sync.sqlite", trace)
    return Runner(yaml.safe_load((repository / action).read_text()), folder, trace, {"trace": trace.name})


def executable(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.fixture(scope="module")
def document(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("document") / "analysis.json"
    trace = repository / "sample_traces/h200/py_alloc_sync.sqlite"
    words = ["analyze", str(trace), "--format", "json", "-o", str(file)]
    subprocess.run([sys.executable, "-m", "stallscope", *words], check=True, capture_output=True, timeout=120)
    return file


@pytest.fixture
def action(repository: Path, tmp_path: Path) -> Runner:
    return runner(repository, tmp_path, "action.yml")


@pytest.fixture
def analyzed(action: Runner, document: Path) -> Runner:
    """The action after its step Analyze."""
    (action.folder / "stallscope-report").mkdir()
    shutil.copy(document, action.folder / "stallscope-report/analysis.json")
    return action


@pytest.fixture
def comment(repository: Path, tmp_path: Path, document: Path) -> Runner:
    made = runner(repository, tmp_path, ".github/actions/comment/action.yml")
    shutil.copy(document, tmp_path / "analysis.json")
    made.inputs = {"report": "analysis.json", "head-sha": SHA, "token": "t"}
    return made


GH = """#!{python}
import json, pathlib, sys
log = pathlib.Path(__file__).parent / "log"
log.open("a").write(json.dumps(sys.argv[1:]) + "\\n")
url = next(word for word in sys.argv[2:] if word.startswith("repos/"))
if url.endswith("/pulls"): print("{number}")
elif "--paginate" in sys.argv: print("{comments}")
"""


def gh(made: Runner, number: str = "17", comments: str = "") -> None:
    executable(made.folder / "bin/gh", GH.format(python=sys.executable, number=number, comments=comments))


def calls(made: Runner) -> list[list[str]]:
    return [json.loads(line) for line in (made.folder / "bin/log").read_text().splitlines()]


def test_install_takes_the_action_itself_or_the_requirement(action: Runner) -> None:
    recorder = """#!/bin/sh
if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; else echo "$@" > installed; fi
"""
    executable(action.folder / "bin/python3", recorder)
    assert action.step("Install stallscope").returncode == 0
    assert (action.folder / "installed").read_text().split()[-1] == "/action"
    action.inputs["requirement"] = "stallscope==1.2"
    action.step("Install stallscope")
    assert (action.folder / "installed").read_text().split()[-1] == "stallscope==1.2"


def test_analysis_and_summary_without_budgets(action: Runner) -> None:
    analyzed = action.step("Analyze")
    assert analyzed.returncode == 0, analyzed.stderr
    assert action.step("Check budgets").returncode == 0
    outputs = action.outputs
    assert outputs == {
        "json": "stallscope-report/analysis.json",
        "html": "stallscope-report/report.html",
        "verdict": "none",
    }
    assert json.loads((action.folder / outputs["json"]).read_text())["findings"]
    assert "alloc.sync" in (action.folder / "step_summary").read_text()
    assert (action.folder / "stallscope-report/junit.xml").is_file()


@pytest.mark.parametrize(
    ("fail_on", "strict", "code", "verdict"),
    [
        ("alloc.sync>90%\n\n", "false", 0, "within"),
        ("alloc.sync>1%\nlaunch.gap>90%", "false", 1, "over"),
        ("host.gil>1%", "false", 0, "unclear"),
        ("host.gil>1%", "true", 5, "unclear"),
        ("alloc.sync>lots", "false", 2, "none"),
    ],
)
def test_budgets_decide_the_step(analyzed: Runner, fail_on: str, strict: str, code: int, verdict: str) -> None:
    analyzed.inputs |= {"fail-on": fail_on, "strict": strict}
    assert analyzed.step("Check budgets").returncode == code
    assert analyzed.outputs["verdict"] == verdict


def test_budget_file_and_further_formats(action: Runner) -> None:
    (action.folder / "limits.toml").write_text('[budgets]\n"alloc.*" = "1 %"\n')
    action.inputs |= {"budgets": "limits.toml", "sarif": "true", "nvtx": "step", "output": "out"}
    assert action.step("Analyze").returncode == 0
    assert action.step("Check budgets").returncode == 1
    assert (action.folder / "out/analysis.sarif").is_file()
    assert "1 exceeded" in (action.folder / "step_summary").read_text()


def test_inputs_are_data_and_never_code(action: Runner) -> None:
    action.inputs |= {"nvtx": '"; touch hacked; "', "fail-on": "$(touch hacked)>1%", "trace": "x; touch hacked"}
    assert action.step("Analyze").returncode == 3
    action.step("Check budgets")
    assert not (action.folder / "hacked").exists()


def test_upload_keeps_the_report_also_after_a_failed_gate(action: Runner) -> None:
    last = action.action["runs"]["steps"][-1]
    assert last["uses"].startswith("actions/upload-artifact@")
    assert last["if"].startswith("always()")


def test_first_run_posts_a_comment_on_the_pull_request_of_the_commit(comment: Runner) -> None:
    gh(comment)
    rendered = comment.step("Render")
    assert rendered.returncode == 0, rendered.stderr
    assert comment.step("Comment").returncode == 0
    post = calls(comment)[-1]
    assert post[:3] == ["api", "--method", "POST"]
    assert post[3] == "repos/owner/repo/issues/17/comments"
    text = Path(post[-1].partition("@")[2]).read_text()
    assert text.startswith("<!-- stallscope:report -->\n### stallscope: GPU 0 waits")


def test_later_run_updates_its_own_comment(comment: Runner) -> None:
    gh(comment, comments="991")
    comment.inputs["key"] = "train-8gpu"
    comment.step("Render")
    assert comment.step("Comment").returncode == 0
    listing, patch = calls(comment)[-2:]
    assert 'startswith("<!-- stallscope:train-8gpu -->")' in listing[-1]
    assert 'user.type == "Bot"' in listing[-1]
    assert patch[:4] == ["api", "--method", "PATCH", "repos/owner/repo/issues/comments/991"]


def test_commit_without_a_pull_request_is_left_alone(comment: Runner) -> None:
    gh(comment, number="")
    comment.step("Render")
    done = comment.step("Comment")
    assert (done.returncode, len(calls(comment))) == (0, 1)


def test_budgets_of_the_base_branch_head_the_comment_and_do_not_fail_it(comment: Runner) -> None:
    (comment.folder / "limits.toml").write_text('[budgets]\n"alloc.*" = "1 %"\n')
    comment.inputs["budgets"] = "limits.toml"
    assert comment.step("Render").returncode == 0
    assert "### stallscope: 1 exceeded" in (comment.folder / "temp/stallscope-comment.md").read_text()


@pytest.mark.parametrize("text", ["{}", "not json", '{"schema_version": "1.0", "findings": [{"id": 3}]}'])
def test_hostile_artifact_is_refused(comment: Runner, text: str) -> None:
    (comment.folder / "analysis.json").write_text(text)
    assert comment.step("Render").returncode == 3


@pytest.mark.parametrize(
    ("name", "value", "step"), [("key", "a --> b", "Render"), ("head-sha", "main; rm -rf", "Comment")]
)
def test_what_goes_into_requests_is_checked(comment: Runner, name: str, value: str, step: str) -> None:
    gh(comment)
    comment.inputs[name] = value
    assert comment.step(step).returncode == 2


def actions_of(repository: Path) -> list[Path]:
    return [repository / "action.yml", *sorted((repository / ".github").rglob("*.y*ml"))]


def test_foreign_actions_are_pinned_by_commit(repository: Path) -> None:
    for page in (*actions_of(repository), repository / "docs" / "ci.md"):
        for used in re.findall(r"^\s*(?:- )?uses:\s*(\S+)", page.read_text("utf-8"), re.MULTILINE):
            name, _, version = used.partition("@")
            own = name.startswith(("OWNER/stallscope", "./"))
            assert re.fullmatch(r"[0-9a-f]{40}", version) or (own and version in {"COMMIT", ""}), f"{page.name}: {used}"


def test_no_expression_stands_in_a_script_and_inputs_come_by_environment(repository: Path) -> None:
    for page in actions_of(repository):
        for step in yaml.safe_load(page.read_text("utf-8"))["runs"]["steps"]:
            assert "${{" not in step.get("run", ""), f"{page.name}: {step['name']}"
            used = set(re.findall(r"\$\{?([A-Z_]{3,})", step.get("run", "")))
            known = {*step.get("env", {}), "RUNNER_TEMP", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}
            assert used <= known, f"{page.name}: {step['name']}"
