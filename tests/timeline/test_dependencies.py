from __future__ import annotations

import numpy as np
from build import US, TraceBuilder
from simulated import DRAIN_US, LAUNCH_US, Free, Launch, Sync, Work, run

from stallscope.model.columns import NO_ROW
from stallscope.model.events import EventRecords, StreamFlag, Streams, SyncKind, Syncs
from stallscope.timeline.dependencies import DependencyGraph, dependency_graph
from stallscope.timeline.edges import EdgeKind
from stallscope.timeline.timeline import Timeline


def graph_of(build: TraceBuilder) -> DependencyGraph:
    return dependency_graph(Timeline(build.trace()))


def edges(graph: DependencyGraph, kind: EdgeKind) -> list[tuple[int, int]]:
    """(row of the earlier operation, row of the later one or NO_ROW for a wait), of one kind."""
    rows = np.flatnonzero(graph.edges.kind == kind)
    before, after = graph.operation[graph.edges.before[rows]], graph.operation[graph.edges.after[rows]]
    return sorted(zip(before.tolist(), after.tolist(), strict=True))


def test_operations_of_a_stream_follow_each_other_and_streams_do_not() -> None:
    graph = graph_of(run([Launch(50, 7), Launch(50, 7), Launch(50, 8), Launch(50, 7)])[0])
    assert edges(graph, EdgeKind.STREAM) == [(0, 2), (2, 3)]  # rows by start: 7, 8, 7, 7
    assert len(edges(graph, EdgeKind.EVENT)) == 0


def test_launch_leads_to_its_operation_with_the_measured_latency() -> None:
    graph = graph_of(run([Work(10), Launch(50)])[0])
    assert graph.legs.lag_ns.tolist() == [(LAUNCH_US + 4) * US]
    assert graph.legs.wait.tolist() == [NO_ROW]


def test_queued_operation_follows_by_the_drain_only() -> None:
    graph = graph_of(run([Launch(200), Launch(200)])[0])
    assert graph.edges.lag_ns.tolist() == [DRAIN_US * US]


def test_host_behind_a_sync_hangs_on_it() -> None:
    graph = graph_of(run([Launch(100), Sync(), Work(20), Launch(10)])[0])
    assert (graph.call != NO_ROW).tolist() == [False, True, False]
    assert graph.legs.wait.tolist() == [NO_ROW, NO_ROW, 1]
    assert (graph.legs.to_ns - graph.legs.from_ns).tolist()[2] == 20 * US
    assert edges(graph, EdgeKind.SYNC) == [(0, NO_ROW)]


def test_stream_sync_with_a_record_waits_for_its_stream_only() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(10, 100, correlation=1, stream=7)
    build.launch(5, 10, correlation=2)
    build.kernel(12, 60, correlation=2, stream=8)
    build.call("cudaStreamSynchronize", 10, 63, correlation=3)
    build.row(
        Syncs, start_ns=10 * US, end_ns=63 * US, device=0, process=0, context=1, stream=8, correlation=3,
        kind=SyncKind.STREAM, event=-1, event_sync=0,
    )  # fmt: skip
    assert edges(graph_of(build), EdgeKind.SYNC) == [(1, NO_ROW)]


def test_sync_without_a_record_is_not_tied_to_work_that_outlasted_it() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(10, 500, correlation=1, stream=7)
    build.launch(5, 10, correlation=2)
    build.kernel(12, 60, correlation=2, stream=8)
    build.call("cudaStreamSynchronize", 10, 63, correlation=3)
    assert edges(graph_of(build), EdgeKind.SYNC) == [(1, NO_ROW)]


def test_free_waits_only_where_the_device_drained_under_it() -> None:
    drained = graph_of(run([Launch(100), Free(), Launch(10)])[0])
    idle = graph_of(run([Launch(100), Sync(), Free(), Launch(10)])[0])
    assert edges(drained, EdgeKind.SYNC) == [(0, NO_ROW)]
    assert (idle.call != NO_ROW).sum() == 1  # the sync


def event_wait(build: TraceBuilder, *, linked: bool) -> None:
    """Stream 8 waits for the kernel on stream 7."""
    build.launch(0, 5, correlation=1)
    build.kernel(10, 100, correlation=1, stream=7)
    build.call("cudaEventRecord", 5, 6, correlation=2)
    build.call("cudaStreamWaitEvent", 6, 7, correlation=3)
    build.launch(7, 12, correlation=4)
    build.kernel(103, 150, correlation=4, stream=8)
    build.row(
        EventRecords, process=0, context=1, stream=7, correlation=2, event=5, event_sync=77 if linked else 0, time_ns=0
    )
    build.row(
        Syncs, start_ns=6 * US, end_ns=7 * US, device=0, process=0, context=1, stream=8, correlation=3,
        kind=SyncKind.STREAM_WAIT_EVENT, event=5, event_sync=77 if linked else 0,
    )  # fmt: skip


def test_event_wait_is_an_edge_by_its_sync_id() -> None:
    build = TraceBuilder()
    event_wait(build, linked=True)
    graph = graph_of(build)
    assert edges(graph, EdgeKind.EVENT) == [(0, 1)]
    assert (graph.recorded_events, graph.inferred_events) == (1, 0)


def test_event_wait_without_an_id_is_inferred_and_counted_as_such() -> None:
    build = TraceBuilder()
    event_wait(build, linked=False)
    graph = graph_of(build)
    assert edges(graph, EdgeKind.EVENT) == [(0, 1)]
    assert (graph.recorded_events, graph.inferred_events) == (0, 1)


def test_event_wait_that_the_times_contradict_is_no_dependency() -> None:
    """The consumer started while the producer still ran: the record belongs to something else."""
    build = TraceBuilder()
    event_wait(build, linked=True)
    build.launch(12, 17, correlation=5)
    build.kernel(60, 70, correlation=5, stream=9)
    build.call("cudaStreamWaitEvent", 7, 7.5, correlation=6)
    build.row(
        Syncs, start_ns=7 * US, end_ns=8 * US, device=0, process=0, context=1, stream=9, correlation=6,
        kind=SyncKind.STREAM_WAIT_EVENT, event=5, event_sync=77,
    )  # fmt: skip
    assert edges(graph_of(build), EdgeKind.EVENT) == [(0, 2)]


def test_legacy_default_stream_waits_and_is_waited_for() -> None:
    build = TraceBuilder()
    for correlation, (stream, start) in enumerate([(7, 10), (13, 61), (7, 112)], start=1):
        build.launch(correlation, correlation + 0.5, correlation=correlation)
        build.kernel(start, start + 50, correlation=correlation, stream=stream)
    for stream, flag in ((7, StreamFlag.NULL), (13, StreamFlag.BLOCKING), (14, StreamFlag.NON_BLOCKING)):
        build.row(Streams, process=0, context=1, stream=stream, flag=flag, priority=0)
    assert edges(graph_of(build), EdgeKind.LEGACY_STREAM) == [(0, 1), (1, 2)]


def test_threads_that_take_turns_are_one_chain() -> None:
    """The backward thread starts when the main thread has stopped, and the other way round."""
    build = TraceBuilder()
    for step in range(4):
        for call in range(30):
            thread = 1 if step % 2 == 0 else 2
            start = 1000 * step + 10 * call
            build.launch(start, start + 5, correlation=1 + 30 * step + call, thread=thread)
            build.kernel(start + 9, start + 11, correlation=1 + 30 * step + call)
    graph = graph_of(build)
    assert graph.merged_threads
    assert len(set(graph.legs.chain.tolist())) == 1


def test_threads_that_work_at_the_same_time_are_two_chains() -> None:
    build = TraceBuilder()
    for call in range(30):
        for thread in (1, 2):
            correlation = 2 * call + thread
            build.launch(10 * call + thread, 10 * call + thread + 5, correlation=correlation, thread=thread)
            build.kernel(10 * call + 9, 10 * call + 11, correlation=correlation, stream=6 + thread)
    graph = graph_of(build)
    assert not graph.merged_threads
    assert len(set(graph.legs.chain.tolist())) == 2


def test_operation_without_a_launch_keeps_its_measured_time() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(10, 20, correlation=1)
    build.kernel(500, 600, correlation=0, stream=9)
    graph = graph_of(build)
    assert graph.legs.chain.tolist() == [0, NO_ROW]
    assert graph.legs.to_ns.tolist()[1] == 500 * US


def test_trace_without_calls_has_a_graph_of_anchored_operations() -> None:
    build = TraceBuilder()
    build.kernel(10, 20)
    build.kernel(30, 40)
    graph = graph_of(build)
    assert graph.legs.chain.tolist() == [NO_ROW, NO_ROW]
    assert edges(graph, EdgeKind.STREAM) == [(0, 1)]
