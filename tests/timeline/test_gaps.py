"""Gaps and what the launching thread did in them."""

from __future__ import annotations

import numpy as np
from build import US, TraceBuilder
from hypothesis import given
from hypothesis import strategies as st

from stallscope.model.columns import NO_ROW
from stallscope.timeline.timeline import Timeline


def test_a_copy_or_another_stream_fills_the_gap() -> None:
    build = TraceBuilder()
    build.kernel(0, 10, stream=7)
    build.copy(10, 40, stream=8)
    build.kernel(5, 50, stream=9)
    build.kernel(60, 70, stream=7)
    gaps = Timeline(build.trace()).gaps
    assert (gaps.start_ns.tolist(), gaps.end_ns.tolist()) == ([50 * US], [60 * US])


def test_gaps_are_the_devices_not_the_process_own() -> None:
    build = TraceBuilder()
    build.kernel(0, 10, pid=1)
    build.kernel(20, 30, pid=1)
    build.kernel(8, 25, pid=2)
    assert len(Timeline(build.trace()).gaps) == 0


def test_two_devices_have_gaps_of_their_own() -> None:
    build = TraceBuilder(devices=2)
    build.kernel(0, 10, device=0)
    build.kernel(5, 15, device=1)
    build.kernel(20, 30, device=0)
    build.kernel(35, 40, device=1)
    gaps = Timeline(build.trace()).gaps
    assert gaps.device.tolist() == [0, 1]
    assert ((gaps.end_ns - gaps.start_ns) // US).tolist() == [10, 20]


def test_late_launch_splits_the_gap_into_host_and_call() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(5, 10, correlation=1)
    build.call("cudaEventRecord", 12, 14)
    build.launch(30, 35, correlation=2)
    build.kernel(37, 40, correlation=2)
    timeline = Timeline(build.trace())
    gaps = timeline.gaps
    assert gaps.host_end_ns.tolist() == [30 * US]
    assert gaps.stretch_ns.tolist() == [16 * US]
    assert not gaps.queued[0]
    assert timeline.trace.names[timeline.calls.name[gaps.launch[0]]] == "cudaLaunchKernel"


def test_launch_that_returned_before_the_gap_is_queued() -> None:
    build = TraceBuilder()
    build.launch(0, 2, correlation=1)
    build.launch(2, 4, correlation=2)
    build.kernel(5, 20, correlation=1)
    build.kernel(21, 30, correlation=2)
    gaps = Timeline(build.trace()).gaps
    assert gaps.queued.tolist() == [True]
    assert gaps.host_end_ns.tolist() == gaps.start_ns.tolist()


def test_nodes_of_one_replay_are_apart_from_two_replays() -> None:
    build = TraceBuilder()
    for correlation, start in ((1, 0), (2, 100)):
        build.call("cudaGraphLaunch", start, start + 60, correlation=correlation)
        build.kernel(start + 10, start + 20, correlation=correlation)
        build.kernel(start + 25, start + 40, correlation=correlation)
    assert Timeline(build.trace()).gaps.in_graph.tolist() == [True, False, True]


def test_same_correlation_in_two_processes_is_not_mixed_up() -> None:
    build = TraceBuilder()
    build.launch(0, 1, correlation=7, pid=1, thread=1)
    build.launch(500, 501, correlation=7, pid=2, thread=2)
    build.kernel(2, 3, correlation=7, pid=1)
    build.kernel(502, 503, correlation=7, pid=2)
    timeline = Timeline(build.trace())
    launched = timeline.calls.start_ns[timeline.launch]
    assert (launched // US).tolist() == [0, 500]


def test_operation_without_a_launch_belongs_to_the_only_calling_thread() -> None:
    build = TraceBuilder()
    build.call("cudaStreamSynchronize", 0, 10, thread=5)
    build.kernel(0, 10)
    build.kernel(20, 30)
    gaps = Timeline(build.trace()).gaps
    assert gaps.launch.tolist() == [NO_ROW]
    assert gaps.thread.tolist() == [0]
    assert gaps.host_end_ns.tolist() == [20 * US]


operations = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 15), st.sampled_from([7, 8, 9])), min_size=1, max_size=20
)


@given(operations)
def test_gaps_are_exactly_the_idle_time_between_operations(rows: list[tuple[int, int, int]]) -> None:
    build = TraceBuilder()
    for start, length, stream in rows:
        build.kernel(start, start + length, stream=stream)
    gaps = Timeline(build.trace()).gaps
    busy = {t for start, length, _ in rows for t in range(start, start + length)}
    idle = set(range(min(busy), max(busy) + 1)) - busy
    found = {t for s, e in zip(gaps.start_ns // US, gaps.end_ns // US, strict=True) for t in range(s, e)}
    assert found == idle
    timeline_ends = Timeline(build.trace()).operations.end_ns
    assert np.array_equal(timeline_ends[gaps.before], gaps.start_ns)


def test_without_a_launch_the_waiting_thread_is_known_where_a_process_has_one() -> None:
    build = TraceBuilder()
    for thread, pid in ((1, 1), (2, 1), (3, 2)):
        build.call("cudaGetDevice", 0, 1, thread=thread, pid=pid)
    build.kernel(0, 10, pid=1)
    build.kernel(20, 30, pid=1)
    build.kernel(40, 50, pid=2)
    timeline = Timeline(build.trace())
    tids = [None if thread == NO_ROW else timeline.trace.threads[thread].tid for thread in timeline.gaps.thread]
    assert tids == [None, 3]
