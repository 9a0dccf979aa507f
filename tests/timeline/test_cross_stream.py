"""Edges between streams: which record a wait follows, which edges the times allow, and with what lag."""

from __future__ import annotations

from typing import Any

import pytest
from build import US, TraceBuilder

from stallscope.model.events import EventRecords, StreamFlag, Streams, SyncKind, Syncs
from stallscope.timeline.cross_stream import MAX_BLOCKING_STREAMS, CrossStream, cross_stream_edges
from stallscope.timeline.edges import EdgeKind
from stallscope.timeline.timeline import Timeline


def found_in(build: TraceBuilder) -> CrossStream:
    timeline = Timeline(build.trace())
    return cross_stream_edges(timeline, timeline.stream_order)


def triples(found: CrossStream, kind: EdgeKind) -> list[tuple[int, int, int]]:
    """(earlier row, later row, lag in ns) of one kind."""
    edges = found.edges.take(found.edges.kind == kind)
    return sorted(zip(edges.before.tolist(), edges.after.tolist(), edges.lag_ns.tolist(), strict=True))


def work(build: TraceBuilder, launch: float, start: float, end: float, **where: Any) -> None:
    """A kernel and its launch call of 1 µs; ids are the launch time in tenths of a microsecond."""
    pid = where.get("pid", 1)
    build.launch(launch, launch + 1, correlation=round(10 * launch) + 1, pid=pid, thread=pid)
    build.kernel(start, end, correlation=round(10 * launch) + 1, **where)


def record(build: TraceBuilder, at: float, *, stream: int, event: int = 5, sync: int = 0, pid: int = 1) -> None:
    number = round(10 * at) + 2
    build.call("cudaEventRecord", at, at + 0.1, correlation=number, pid=pid, thread=pid)
    build.row(
        EventRecords, process=build.process(pid), context=1, stream=stream, correlation=number, event=event,
        event_sync=sync, time_ns=0,
    )  # fmt: skip


def wait(build: TraceBuilder, at: float, *, stream: int, event: int = 5, sync: int = 0, pid: int = 1) -> None:
    number = round(10 * at) + 3
    build.call("cudaStreamWaitEvent", at, at + 0.1, correlation=number, pid=pid, thread=pid)
    build.row(
        Syncs, start_ns=round(at * US), end_ns=round(at * US) + 100, device=0, process=build.process(pid), context=1,
        stream=stream, correlation=number, kind=SyncKind.STREAM_WAIT_EVENT, event=event, event_sync=sync,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("start", "lag"), [(98, -2_000), (97.999, None), (100, 0), (110, 10_000), (115, 10_000), (104, 4_000)]
)
def test_a_lag_is_as_measured_up_to_10_us_and_not_before_the_clocks_allow(start: float, lag: int | None) -> None:
    build = TraceBuilder()
    work(build, 0, 10, 100)
    record(build, 2, stream=7, sync=77)
    wait(build, 3, stream=8, sync=77)
    work(build, 4, start, 150, stream=8)
    found = found_in(build)
    assert triples(found, EdgeKind.EVENT) == ([] if lag is None else [(0, 1, lag)])
    assert (found.recorded, found.inferred) == (1, 0)


def test_without_an_id_a_wait_follows_the_last_record_of_its_event_before_it() -> None:
    """Two events, two processes with equal ids, and a record behind the wait."""
    build = TraceBuilder()
    for pid in (1, 2):
        work(build, 0, 10, 20, pid=pid)
        record(build, 2, stream=7, pid=pid)
        work(build, 4, 21, 30, pid=pid)
        record(build, 6, stream=7, pid=pid)
        record(build, 7, stream=9, event=6, pid=pid)
        wait(build, 8, stream=8, pid=pid)
        work(build, 9, 21, 30, pid=pid)
        record(build, 11, stream=7, pid=pid)
        work(build, 12, 33, 40, stream=8, pid=pid)
    timeline = Timeline(build.trace())
    found = cross_stream_edges(timeline, timeline.stream_order)
    launched, process = timeline.launched_ns() // US, timeline.operations.process
    ends = [(launched[b], process[b], launched[a], process[a]) for b, a, _ in triples(found, EdgeKind.EVENT)]
    assert sorted(ends) == [(4, 0, 12, 0), (4, 1, 12, 1)]
    assert (found.recorded, found.inferred) == (0, 2)


@pytest.mark.parametrize(("source", "target"), [(9, 8), (7, 9)])
def test_an_event_between_streams_of_which_one_has_no_work_is_no_edge(source: int, target: int) -> None:
    build = TraceBuilder()
    work(build, 0, 10, 20)
    record(build, 2, stream=source, sync=77)
    wait(build, 3, stream=target, sync=77)
    work(build, 4, 21, 30, stream=8)
    found = found_in(build)
    assert (triples(found, EdgeKind.EVENT), found.recorded) == ([], 0)


@pytest.mark.parametrize(("at", "event", "call"), [(9, 5, True), (2, 6, True), (2, 5, False), (None, 5, True)])
def test_a_wait_without_an_earlier_record_of_its_event_is_no_edge(at: float | None, event: int, *, call: bool) -> None:
    """Recorded later, another event recorded, a record whose call is not in the trace, nothing recorded."""
    build = TraceBuilder()
    work(build, 0, 10, 20)
    wait(build, 3, stream=8)
    work(build, 4, 21, 30, stream=8)
    if at is not None and call:
        record(build, at, stream=7, event=event)
    elif at is not None:
        build.row(EventRecords, process=0, context=1, stream=7, correlation=999, event=event, event_sync=0, time_ns=0)
    found = found_in(build)
    assert triples(found, EdgeKind.EVENT) == []
    assert (found.recorded, found.inferred) == (0, 0)


@pytest.mark.parametrize(("blocking", "edges"), [(MAX_BLOCKING_STREAMS, 2), (MAX_BLOCKING_STREAMS + 1, 0)])
def test_the_legacy_stream_is_tied_to_at_most_32_streams(blocking: int, edges: int) -> None:
    """Stream 7 is the legacy one: one kernel of stream 100, two of it, two of stream 100; each change is told once."""
    build = TraceBuilder()
    work(build, 0, 10, 20, stream=100)
    work(build, 2, 21, 30)
    work(build, 3, 31, 35)
    work(build, 4, 36, 40, stream=100)
    work(build, 4.5, 41, 45, stream=100)
    for other in range(1, blocking):
        work(build, 5 + other, 1_000 + 10 * other, 1_005 + 10 * other, stream=100 + other)
    build.row(Streams, process=0, context=1, stream=7, flag=StreamFlag.NULL, priority=0)
    for other in range(blocking):
        build.row(Streams, process=0, context=1, stream=100 + other, flag=StreamFlag.BLOCKING, priority=0)
    early = [(b, a) for b, a, _ in triples(found_in(build), EdgeKind.LEGACY_STREAM) if a <= 4]
    assert early == [(0, 1), (2, 3)][:edges]


@pytest.mark.parametrize(("pause", "explained"), [(20, True), (20.001, False)])
def test_a_node_of_a_graph_follows_what_ended_last_unless_its_stream_explains_it(
    pause: float, *, explained: bool
) -> None:
    """Stream 7 works until 20 µs, stream 8 until 39; the last node is the next one of stream 7."""
    build = TraceBuilder()
    build.call("cudaGraphLaunch", 0, 5, correlation=1)
    for stream, start, end in ((7, 10, 20), (8, 12, 39), (7, 20 + pause, 60)):
        build.kernel(start, end, stream=stream, correlation=1)
    assert [(b, a) for b, a, _ in triples(found_in(build), EdgeKind.GRAPH)] == ([] if explained else [(1, 2)])
