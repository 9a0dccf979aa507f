from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated import IDLE_SYNC_US, Free, Launch, Step, Sync, Work, run

from stallscope.experiments.counterfactual import Counterfactuals, has_counterfactual
from stallscope.ingest.open import open_trace
from stallscope.model.columns import NO_ROW
from stallscope.timeline.calls import SYNCS
from stallscope.timeline.dependencies import dependency_graph
from stallscope.timeline.replay import Change, replay
from stallscope.timeline.step_bounds import step_bounds
from stallscope.timeline.timeline import Timeline
from stallscope.waits.catalogue import all_rules
from stallscope.waits.runner import diagnose

US = 1_000

steps = st.one_of(
    st.integers(0, 80).map(Work),
    st.builds(Launch, st.integers(1, 120), st.sampled_from([7, 8])),
    st.builds(Sync, st.sampled_from([None, 7, 8])),
    st.just(Free()),
)
programs = st.lists(steps, min_size=1, max_size=40).map(lambda body: [Launch(10), *body, Launch(10)])


def modelled(program: list[Step]) -> Counterfactuals:
    timeline = Timeline(run(program)[0].trace())
    return Counterfactuals(timeline, diagnose(timeline, all_rules(), everything=True).charges)


@given(programs)
@settings(max_examples=100, deadline=None)
def test_replay_of_a_known_machine_gives_its_times_back(program: list[Step]) -> None:
    """To a few microseconds a node: the model takes usual latencies where the measured one cannot be seen."""
    timeline = Timeline(run(program)[0].trace())
    graph = dependency_graph(timeline)
    assert np.abs(replay(graph) - graph.measured_end_ns).max() <= 10 * US * len(program) ** 0.5


@given(programs)
@settings(max_examples=100, deadline=None)
def test_no_wait_gains_more_than_it_costs_nor_more_than_the_idle_time(program: list[Step]) -> None:
    timeline = Timeline(run(program)[0].trace())
    diagnosis = diagnose(timeline, all_rules(), everything=True)
    model = Counterfactuals(timeline, diagnosis.charges)
    (window,), idle = timeline.windows, diagnosis.ledgers[0].idle_ns
    for finding in diagnosis.findings:
        if has_counterfactual(finding.wait):
            gain = min(model.gain_ns((finding.wait,)), finding.wait_ns)
            assert 0 <= gain <= finding.wait_ns
            assert gain <= window.window_ns - (window.window_ns - idle) or not finding.ledger


@given(programs)
@settings(max_examples=100, deadline=None)
def test_together_gives_at_least_the_best_single_one(program: list[Step]) -> None:
    timeline = Timeline(run(program)[0].trace())
    diagnosis = diagnose(timeline, all_rules(), everything=True)
    model = Counterfactuals(timeline, diagnosis.charges)
    waits = [f.wait for f in diagnosis.findings if has_counterfactual(f.wait)]
    if waits:
        assert model.gain_ns(waits) >= max(model.gain_ns((wait,)) for wait in waits)


@given(programs.map(lambda program: [step for step in program if not isinstance(step, Free)]))
@settings(max_examples=100, deadline=None)
def test_without_syncs_the_replay_is_the_program_without_syncs(program: list[Step]) -> None:
    """The changed program really runs: its synchronizations became calls with nothing to wait for."""
    timeline = Timeline(run(program)[0].trace())
    graph = dependency_graph(timeline)
    waiting = np.maximum(graph.call, 0)
    syncs = (graph.call != NO_ROW) & np.isin(timeline.calls.kind[waiting], SYNCS)
    end = replay(graph, Change(unblocked=syncs))[graph.operation != NO_ROW].max()
    changed = [Work(IDLE_SYNC_US) if isinstance(step, Sync) else step for step in program]
    truth = Timeline(run(changed)[0].trace())
    assert abs(int(end) - int(truth.operations.end_ns.max())) <= 10 * US * len(program) ** 0.5


def test_launch_gaps_gain_what_a_fed_device_would_save() -> None:
    """Kernels of 10 behind 60 of host work each: without the gaps they run back to back."""
    program = [step for _ in range(100) for step in (Work(40), Launch(10))]
    model = modelled(program)
    assert model.error < 0.001
    window = model.timeline.windows[0].window_ns
    gain = model.gain_ns(("launch.gap",))
    assert window - gain == pytest.approx(100 * 11 * US, rel=0.05)


def test_sync_over_a_device_that_is_always_fed_gains_nothing() -> None:
    """The host waits long, and is early all the same: most of such time is not worth a step."""
    program = [Launch(1000), Launch(1000), *[step for _ in range(20) for step in (Launch(1000), Sync(8))]]
    model = modelled(program)
    assert model.gain_ns(("sync.stream", "sync.device")) == 0


def test_removed_sync_that_exposes_the_host_gains_only_the_rest() -> None:
    """Kernel 50, then 45 of host work behind a sync: without it the host is the bottleneck, not the sum."""
    program = [step for _ in range(50) for step in (Launch(50), Sync(), Work(40))]
    model = modelled(program)
    _, changed = run([Work(IDLE_SYNC_US) if isinstance(s, Sync) else s for s in program])
    before = model.timeline.windows[0].window_ns
    gain = model.gain_ns(("sync.device",))
    assert before - gain == pytest.approx(changed * US, rel=0.05)


def test_allocator_calls_go_with_their_own_time() -> None:
    program = [step for _ in range(50) for step in (Launch(50), Free())]
    model = modelled(program)
    _, changed = run([step for step in program if not isinstance(step, Free)])
    before = model.timeline.windows[0].window_ns
    assert before - model.gain_ns(("alloc.sync",)) == pytest.approx(changed * US, rel=0.05)


def test_two_waits_do_not_add_up() -> None:
    """Two synchronizations behind each other: without one of them the other one holds the host just as long."""
    program = [step for _ in range(30) for step in (Launch(100), Sync(7), Sync(), Work(60))]
    model = modelled(program)
    single = [model.gain_ns((wait,)) for wait in ("sync.stream", "sync.device")]
    assert model.gain_ns(("sync.stream", "sync.device")) > 5 * sum(single)


def test_free_behind_a_removed_sync_takes_over_its_wait() -> None:
    """The first cudaFree shows that frees wait here; so will the second one, once no sync drains the device for it."""
    program = [step for _ in range(20) for step in (Launch(100), Free(), Launch(100), Sync(), Free())]
    model = modelled(program)
    _, changed = run([Work(IDLE_SYNC_US) if isinstance(s, Sync) else s for s in program])
    before = model.timeline.windows[0].window_ns
    gain = model.gain_ns(("sync.device",))
    assert before - gain == pytest.approx(changed * US, rel=0.05)


def test_delay_that_nothing_explains_makes_the_model_abstain() -> None:
    """A kernel starts a millisecond after everything was ready for it: another process, a missing table."""
    build, _ = run([Launch(10)])
    build.launch(100, 105, correlation=99)
    build.kernel(2_000, 2_010, correlation=99)
    timeline = Timeline(build.trace())
    model = Counterfactuals(timeline, {})
    assert model.error > 0.05
    assert not model.explains


@pytest.mark.parametrize("trace", ["py_launch_gaps", "py_alloc_sync", "py_host_sync", "cu_alloc", "cu_queue"])
def test_real_captures_are_explained(repository: Path, trace: str) -> None:
    timeline = Timeline(open_trace(repository / "sample_traces" / "h200" / f"{trace}.sqlite"))
    assert Counterfactuals(timeline, {}).error < 0.02


def test_measured_gain_of_a_graph_lies_beside_the_replayed_one(repository: Path) -> None:
    """Eager against node-level graph on the H200: the replay of the eager run foresees the graph's window."""
    samples = repository / "sample_traces" / "h200"
    eager, graph = (Timeline(open_trace(samples / f"py_launch_gaps{end}.sqlite")) for end in ("", "_graph_node"))
    model = Counterfactuals(eager, diagnose(eager, all_rules()).charges)
    foreseen = model.gain_ns(("launch.gap",)) / 50
    periods = []
    for timeline in (eager, graph):
        bounds = step_bounds(timeline)
        assert bounds is not None
        periods.append(float(np.diff(bounds.edges[0])[1:].mean()))
    assert foreseen == pytest.approx(periods[0] - periods[1], rel=0.1)
