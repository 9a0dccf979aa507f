from __future__ import annotations

from pathlib import Path

import pytest
from build import TraceBuilder

from stallscope.api import Options, analyze, analyze_trace
from stallscope.ingest.open import OpenOptions
from stallscope.model.analysis import Analysis


def late_kernels(count: int = 60) -> TraceBuilder:
    """Kernels of 10 µs, each launched 60 µs after the one before."""
    build = TraceBuilder()
    for k in range(count):
        build.launch(60 * k, 60 * k + 5, correlation=k + 1)
        build.kernel(60 * k + 9, 60 * k + 19, correlation=k + 1)
    return build


def test_recoverable_is_bounded_by_the_replay_and_stays_inside_the_wait() -> None:
    analysis = analyze_trace(late_kernels().trace(), everything=True)
    for finding in analysis.findings:
        assert 0 <= finding.recoverable_ns.low <= finding.recoverable_ns.high <= finding.wait_ns
    assert analysis.replay is not None
    assert analysis.replay.explains
    assert analysis.replay.joint_ns <= sum(f.wait_ns for f in analysis.findings)


def test_caveat_names_contention_and_joint_gains() -> None:
    (first, *_) = analyze_trace(late_kernels().trace()).findings
    assert any("competes for memory" in caveat and "do not add up" in caveat for caveat in first.caveats)


def test_model_that_misses_abstains_and_leaves_the_rules_estimate() -> None:
    build = late_kernels()
    build.launch(4_000, 4_005, correlation=900)
    build.kernel(9_000, 9_010, correlation=900)  # nothing in the trace says why it started so late
    analysis = analyze_trace(build.trace(), everything=True)
    assert analysis.replay is not None
    assert not analysis.replay.explains
    assert "does not explain" in analysis.replay.message
    assert (analysis.replay.joint, analysis.replay.critical_path) == ((), None)
    assert not any("replaying" in caveat for f in analysis.findings for caveat in f.caveats)


def test_trace_without_api_calls_is_not_replayed() -> None:
    build = TraceBuilder()
    build.kernel(0, 10)
    build.kernel(50, 60)
    assert analyze_trace(build.trace()).replay is None


@pytest.fixture(scope="module")
def launch_gaps(repository: Path) -> Analysis:
    opening = OpenOptions(use_cache=False)
    return analyze(repository / "sample_traces" / "h200" / "py_launch_gaps.sqlite", Options(opening=opening))


def test_steps_of_a_real_capture_are_named_by_their_bound(launch_gaps: Analysis) -> None:
    assert launch_gaps.replay is not None
    path = launch_gaps.replay.critical_path
    assert path is not None
    assert path.bound_by == "host"
    assert sum(path.steps_bound_by().values()) == 50
    assert path.total_ns == launch_gaps.devices[0].window_ns


def test_graph_level_capture_is_not_replayed(repository: Path) -> None:
    """What is not in the trace cannot be replayed."""
    hidden = repository / "sample_traces" / "h200" / "py_launch_gaps_graph.sqlite"
    assert analyze(hidden, Options(opening=OpenOptions(use_cache=False))).replay is None
