"""Runs: named for URLs, loaded in the background, failing one by one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from stallscope_dashboard.workspace import Announce, Loaded, Progress, Run, Stage, Workspace, named_runs

from stallscope.errors import InputError
from stallscope.model.analysis import Analysis


def finished(workspace: Workspace) -> None:
    for _ in range(500):
        if workspace.settled:
            return
        threading.Event().wait(0.01)
    raise AssertionError([run.progress for run in workspace.runs])


def test_slugs_are_unique_and_need_no_escaping() -> None:
    runs = named_runs([("a b<script>.sqlite", ()), ("a b<script>.sqlite", ()), ("…", ())])
    assert [run.slug for run in runs] == ["a-b-script-.sqlite", "a-b-script-.sqlite-2", "run"]
    assert runs[0].title == "a b<script>.sqlite"


def test_loading_goes_on_beside_the_pages_and_tells_its_stages() -> None:
    seen: list[Stage] = []
    gate = threading.Event()

    def loader(_paths: Sequence[Path], announce: Announce) -> Loaded:
        announce(Progress(Stage.READING, "hashing", 0.5))
        gate.wait(5)
        return Loaded(Analysis())

    run = Run("a", "a.sqlite")
    workspace = Workspace([run], loader)
    workspace.start()
    while run.stage is not Stage.READING:
        threading.Event().wait(0.005)
    seen.append(run.stage)
    assert not workspace.settled
    gate.set()
    finished(workspace)
    assert run.stage is Stage.READY
    assert run.loaded == Loaded(Analysis())


def test_one_failure_costs_no_other_run() -> None:
    def loader(paths: Sequence[Path], _announce: Announce) -> Loaded:
        if paths[0].name == "bad":
            raise InputError("not a trace", file="bad", next_step="give another")
        if paths[0].name == "worse":
            raise ZeroDivisionError
        if paths[0].name == "gone":
            raise FileNotFoundError(2, "No such file or directory")
        return Loaded(Analysis())

    runs = named_runs([(name, [Path(name)]) for name in ("bad", "worse", "gone", "good")])
    workspace = Workspace(runs, loader)
    workspace.start()
    finished(workspace)
    assert [run.stage for run in runs] == [Stage.FAILED, Stage.FAILED, Stage.FAILED, Stage.READY]
    assert [str(run.failure.what) for run in runs[:3] if run.failure] == [
        "not a trace",
        "unexpected ZeroDivisionError: ",
        "cannot be read: No such file or directory",
    ]


def test_a_lazy_run_waits_until_somebody_looks_and_loads_once() -> None:
    calls: list[int] = []

    def loader(_paths: Sequence[Path], _announce: Announce) -> Loaded:
        calls.append(1)
        return Loaded(Analysis())

    run = Run("ranks", "ranks")
    run.lazy = True
    workspace = Workspace([run], loader)
    workspace.start()
    assert workspace.settled
    assert calls == []
    workspace.want(run)
    workspace.want(run)
    finished(workspace)
    assert run.stage is Stage.READY
    assert calls == [1]


def test_a_run_is_found_by_slug_and_the_first_without_one() -> None:
    workspace = Workspace.ready({"a": Loaded(Analysis()), "b": Loaded(Analysis())})
    assert workspace.run(None) is workspace.runs[0]
    assert workspace.run("b") is workspace.runs[1]
    assert workspace.run("../etc/passwd") is None


def test_a_workspace_needs_a_run() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        Workspace([], lambda _paths, _announce: Loaded(Analysis()))
