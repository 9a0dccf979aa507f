from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from simulated import Free, Launch, Step, Sync, Work, run
from test_replay import programs

from stallscope.ingest.open import open_trace
from stallscope.timeline.critical_path import Path as Chain
from stallscope.timeline.critical_path import critical_path
from stallscope.timeline.dependencies import dependency_graph
from stallscope.timeline.replay import replay
from stallscope.timeline.timeline import Timeline

US = 1_000


def path_of(timeline: Timeline) -> Chain:
    graph = dependency_graph(timeline)
    return critical_path(timeline, graph, replay(graph))


def parts_us(program: list[Step]) -> dict[str, float]:
    parts = path_of(Timeline(run(program)[0].trace())).parts_ns()
    return {bound: ns / US for bound, ns in parts.items()}


@given(programs)
@settings(max_examples=80, deadline=None)
def test_path_covers_the_window_once(program: list[Step]) -> None:
    timeline = Timeline(run(program)[0].trace())
    operations = timeline.operations
    window = int(operations.end_ns.max() - operations.start_ns.min())
    assert sum(path_of(timeline).parts_ns().values()) == window


def test_queued_kernels_are_bound_by_compute() -> None:
    assert parts_us([Launch(500), Launch(500), Launch(500)]) == {"compute": 1500, "launch": 2}


def test_late_launches_are_bound_by_the_host_and_its_launch_calls() -> None:
    """After the first kernel: nine times 60 of host work and a call of 5, and once the way of 4 to the device."""
    parts = parts_us([step for _ in range(10) for step in (Work(60), Launch(5))])
    assert max(parts, key=lambda bound: parts[bound]) == "host"
    assert parts["compute"] == 5  # only the last kernel is on the path
    assert parts["launch"] == 9 * 5 + 4


def test_time_behind_a_wait_is_the_hosts() -> None:
    parts = parts_us([step for _ in range(10) for step in (Launch(50), Free())] + [Launch(50)])
    assert parts["compute"] == 550
    assert parts["host"] == pytest.approx(10 * 40, abs=1)


def test_cheap_stream_is_not_on_the_path() -> None:
    """Both streams are awaited; only the long one decides."""
    parts = parts_us([step for _ in range(5) for step in (Launch(300, 7), Launch(10, 8), Sync())] + [Launch(1)])
    assert parts["compute"] == 1501


@pytest.mark.parametrize(
    ("trace", "bound"),
    [
        ("py_launch_gaps", "host"),
        ("py_pageable_copy", "copy"),
        ("cu_queue", "compute"),
        ("py_host_sync", "compute"),
        ("py_dataloader", "host"),
    ],
)
def test_real_captures_are_bound_by_what_was_planted(repository: Path, trace: str, bound: str) -> None:
    parts = path_of(Timeline(open_trace(repository / "sample_traces" / "h200" / f"{trace}.sqlite"))).parts_ns()
    assert max(parts, key=lambda name: parts[name]) == bound
