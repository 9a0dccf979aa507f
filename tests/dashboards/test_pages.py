"""Every page draws for every kind of run, and says why when there is nothing to draw."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from build import TraceBuilder
from dashboard_runs import loaded_from
from lane_samples import HOSTILE, burst_build
from stallscope_dashboard.app import create_app
from stallscope_dashboard.pages.registry import PAGES, content
from stallscope_dashboard.urls import View, finding, page, timeline
from stallscope_dashboard.workspace import Loaded, Progress, Run, Stage, Workspace

from stallscope.errors import InputError
from stallscope.model.analysis import Analysis

PATHS = [one.path for one in PAGES]


def texts(component: Any) -> Iterator[str]:
    """All text of a component, in reading order."""
    if component is None:
        return
    if isinstance(component, (str, int, float)):
        yield str(component)
    elif isinstance(component, (list, tuple)):
        for child in component:
            yield from texts(child)
    else:
        yield from texts(getattr(component, "children", None))


def shown(workspace: Workspace, path: str, **parameters: str) -> str:
    return " ".join(texts(content(workspace, View(path, parameters.pop("run", None), parameters))))


@pytest.mark.parametrize("path", PATHS)
def test_every_page_draws(workspace: Workspace, path: str) -> None:
    text = shown(workspace, path)
    assert text or path == "/timeline"  # its text is made by the scripts
    assert "could not be drawn" not in text


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("run", [Loaded(Analysis()), loaded_from(TraceBuilder())], ids=["empty report", "empty trace"])
def test_every_page_has_an_empty_state(path: str, run: Loaded) -> None:
    text = shown(Workspace.ready({"empty": run}), path)
    assert text
    assert "could not be drawn" not in text


@pytest.mark.parametrize("path", PATHS)
def test_every_page_draws_every_sample_report(repository: Path, path: str) -> None:
    for report in sorted((repository / "sample_traces/h200").glob("*.json")):
        analysis = Analysis.from_json(report.read_bytes())
        assert "could not be drawn" not in shown(Workspace.ready({report.name: Loaded(analysis)}), path), report.name


@pytest.mark.parametrize("path", [*PATHS, "/finding/launch.gap"])
def test_a_run_that_failed_says_what_which_and_what_next(path: str) -> None:
    run = Run("x", "x.sqlite")
    run.progress = Progress(Stage.FAILED)
    run.failure = InputError("truncated", file="x.sqlite", next_step="export it again")
    workspace = Workspace([run], lambda _paths, _announce: Loaded(Analysis()))
    assert all(part in shown(workspace, path) for part in ("truncated", "x.sqlite", "export it again"))


def test_a_run_that_is_loading_shows_how_far_it_is() -> None:
    run = Run("x", "x.sqlite")
    run.progress = Progress(Stage.READING, "reading kernels", 0.4)
    workspace = Workspace([run], lambda _paths, _announce: Loaded(Analysis()))
    text = shown(workspace, "/waits")
    assert "Loading x.sqlite" in text
    assert "reading kernels 40%" in text


def test_unknown_pages_and_runs_are_told_apart(workspace: Workspace) -> None:
    assert "no such page" in shown(workspace, "/nowhere")
    assert "no such run" in shown(workspace, "/", run="nobody")


def test_a_page_that_breaks_says_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_analysis: Analysis) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("stallscope_dashboard.pages.overview.headline", broken)
    assert "Overview could not be drawn" in shown(workspace, "/")
    assert "could not be drawn" not in shown(workspace, "/waits")


def test_the_overview_names_finding_ledger_steps_and_missing_data(workspace: Workspace) -> None:
    text = shown(workspace, "/")
    for part in ("GPU 0 waits", "launch.gap", "Where the time went", "Steps", "Trace health", "Rules"):
        assert part in text


def test_a_finding_shows_evidence_places_and_experiments(workspace: Workspace) -> None:
    text = shown(workspace, "/finding/launch.gap")
    for part in (
        "Evidence",
        "CUPTI_ACTIVITY_KIND",
        "Where",
        "step / layer",
        "Experiments",
        "refuted if",
        "Recoverable assumes",
    ):
        assert part in text
    assert "has no finding" in shown(workspace, "/finding/F-000000")


def test_two_runs_of_one_program_are_compared() -> None:
    fast = loaded_from(burst_build(steps=12))
    slow = loaded_from(burst_build(steps=12))
    text = shown(Workspace.ready({"a": fast, "b": slow}), "/compare")
    assert "What changed" in text or "inconclusive" in text or "not comparable" in text
    assert "Both sides are the same run" in shown(
        Workspace.ready({"a": fast, "b": slow}), "/compare", base="a", head="a"
    )
    assert "only one run" in shown(Workspace.ready({"a": fast}), "/compare")


def test_hostile_names_stay_text(workspace: Workspace) -> None:
    del workspace
    run = loaded_from(burst_build(steps=12, kernel=HOSTILE))
    for path in (*PATHS, "/finding/launch.gap"):
        drawn = json.dumps(
            content(Workspace.ready({HOSTILE: run}), View(path, None, {})).to_plotly_json(),
            default=lambda c: c.to_plotly_json(),
        )
        assert "could not be drawn" not in drawn
        assert "\\u202e" not in drawn
        assert "dangerously_allow_html" not in drawn


def test_the_application_answers_its_layout(workspace: Workspace) -> None:
    client = create_app(workspace).server.test_client()
    assert client.get("/").status_code == 200
    assert client.get("/_dash-layout").get_json()["props"]["className"] == "frame"
    ids = {output for callback in client.get("/_dash-dependencies").get_json() for output in [callback["output"]]}
    assert any("content.children" in output for output in ids)


def test_links_hold_the_whole_view() -> None:
    assert View.parse("/waits/", "?run=a&wait=launch.gap&wait=x") == View("/waits", "a", {"wait": "launch.gap"})
    assert View.parse(None, None) == View("/", None, {})
    assert page("/waits", "a b", q="x&y", wait="") == "/waits?run=a+b&q=x%26y"
    assert finding(None, "F-1/2") == "/finding/F-1%2F2"
    assert timeline("r", (1_000, 2_000), "launch.gap", "gpu0/waits:3") == (
        "/timeline?run=r#t=500-2500&w=launch.gap&sel=gpu0%2Fwaits%3A3"
    )
