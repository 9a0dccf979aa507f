"""For which operations a host call waits, and what it costs when there is nothing to wait for."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder

from stallscope.model.events import EventRecords, SyncKind, Syncs
from stallscope.timeline.host_waits import HostWaits, host_waits
from stallscope.timeline.stream_order import StreamOrder
from stallscope.timeline.timeline import Timeline


def waits_of(build: TraceBuilder) -> tuple[Timeline, HostWaits]:
    timeline = Timeline(build.trace())
    launched = timeline.calls.start_ns[timeline.launch]
    return timeline, host_waits(timeline, StreamOrder(timeline.operations, lambda: launched))


def pairs(timeline: Timeline, waits: HostWaits) -> list[tuple[str, int]]:
    """(call, correlation of the awaited operation)."""
    names, calls = timeline.trace.names, timeline.calls
    return [
        (names[calls.name[waits.call[pair]]], int(timeline.operations.correlation[operation]))
        for pair, operation in zip(waits.pair.tolist(), waits.operation.tolist(), strict=True)
    ]


def two_streams(build: TraceBuilder) -> None:
    """Kernel 1 on stream 7 until 100 µs, kernel 2 behind it until 150, kernel 3 on stream 8 until 180."""
    for correlation, (stream, start, end) in enumerate([(7, 20, 100), (7, 101, 150), (8, 20, 180)], start=1):
        build.launch(3 * correlation, 3 * correlation + 2, correlation=correlation)
        build.kernel(start, end, correlation=correlation, stream=stream)


def event_synchronize(build: TraceBuilder, *, sync_id: int, record_id: int = 77) -> None:
    """The event was recorded on stream 7 between kernels 1 and 2; the host waits for it until 103 µs."""
    build.call("cudaEventRecord", 5.2, 5.8, correlation=10)
    build.call("cudaEventSynchronize", 13, 103, correlation=11)
    build.row(EventRecords, process=0, context=1, stream=7, correlation=10, event=5, event_sync=record_id, time_ns=0)
    build.row(
        Syncs, start_ns=13 * US, end_ns=103 * US, device=0, process=0, context=1, stream=-1, correlation=11,
        kind=SyncKind.EVENT, event=5, event_sync=sync_id,
    )  # fmt: skip


def test_an_event_synchronization_waits_for_what_came_before_the_record() -> None:
    build = TraceBuilder()
    two_streams(build)
    event_synchronize(build, sync_id=77)
    timeline, waits = waits_of(build)
    assert pairs(timeline, waits) == [("cudaEventSynchronize", 1)]
    assert waits.return_ns.tolist() == [3 * US]


@pytest.mark.parametrize(("sync_id", "record_id"), [(0, 77), (0, 0), (78, 77)])
def test_without_its_record_it_waits_for_every_stream_that_had_finished(sync_id: int, record_id: int) -> None:
    """Kernels 2 and 3 outlast the call, so nothing is left that it can have waited for."""
    build = TraceBuilder()
    two_streams(build)
    event_synchronize(build, sync_id=sync_id, record_id=record_id)
    timeline, waits = waits_of(build)
    assert pairs(timeline, waits) == []
    assert waits.floor_ns.tolist() == [90 * US]


def sync_of_stream(build: TraceBuilder, stream: int, start: float, end: float, correlation: int) -> None:
    build.call("cudaStreamSynchronize", start, end, correlation=correlation)
    build.row(
        Syncs, start_ns=round(start * US), end_ns=round(end * US), device=0, process=0, context=1, stream=stream,
        correlation=correlation, kind=SyncKind.STREAM, event=-1, event_sync=0,
    )  # fmt: skip


def test_a_stream_synchronization_waits_for_its_stream_alone() -> None:
    build = TraceBuilder()
    two_streams(build)
    sync_of_stream(build, 7, 13, 154, 11)
    timeline, waits = waits_of(build)
    assert pairs(timeline, waits) == [("cudaStreamSynchronize", 2)]
    assert waits.return_ns.tolist() == [4 * US]


def test_a_stream_synchronization_counts_what_was_submitted_before_it_only() -> None:
    build = TraceBuilder()
    two_streams(build)
    sync_of_stream(build, 7, 5.5, 104, 11)
    timeline, waits = waits_of(build)
    assert pairs(timeline, waits) == [("cudaStreamSynchronize", 1)]


def test_a_free_wait_costs_the_median_of_the_process_and_never_more_than_itself() -> None:
    """Waits of 1, 3 and 9 µs with nothing to wait for, then one that held the host for 50 µs behind a kernel."""
    build = TraceBuilder()
    for correlation, (start, length) in enumerate([(0, 1), (10, 3), (20, 9)], start=20):
        build.call("cudaDeviceSynchronize", start, start + length, correlation=correlation)
    build.launch(40, 42, correlation=1)
    build.kernel(45, 90, correlation=1)
    build.call("cudaDeviceSynchronize", 43, 93, correlation=2)
    _, waits = waits_of(build)
    assert waits.floor_ns.tolist() == [1 * US, 3 * US, 9 * US, 3 * US]
    assert waits.return_ns.tolist() == [0, 0, 0, 3 * US]


def test_another_process_does_not_set_the_price_of_a_free_wait() -> None:
    """It may wait for work that is not in the trace. Without any free wait the usual 2 µs stand."""
    build = TraceBuilder()
    build.launch(0, 2, correlation=1)
    build.kernel(5, 50, correlation=1)
    build.call("cudaDeviceSynchronize", 3, 53, correlation=2)
    build.call("cudaDeviceSynchronize", 3, 53, correlation=2, pid=2, thread=9)
    timeline, waits = waits_of(build)
    floors = dict(zip(timeline.calls.process[waits.call].tolist(), waits.floor_ns.tolist(), strict=True))
    assert floors == {0: 2 * US, 1: 50 * US}


@pytest.mark.parametrize(("end", "awaited"), [(98, True), (97.999, False)])
def test_the_clocks_may_differ_by_two_microseconds(end: float, *, awaited: bool) -> None:
    """The kernel ends at 100 µs; a call that returned 2 µs earlier can still have waited for it."""
    build = TraceBuilder()
    build.launch(0, 2, correlation=1)
    build.kernel(5, 100, correlation=1)
    build.call("cudaDeviceSynchronize", 3, end, correlation=2)
    timeline, waits = waits_of(build)
    assert bool(pairs(timeline, waits)) == awaited


def test_a_blocking_copy_waits_for_its_own_last_part() -> None:
    build = TraceBuilder()
    build.call("cudaMemcpy", 0, 60, correlation=1)
    build.copy(10, 20, correlation=1)
    build.copy(30, 50, correlation=1)
    build.call("cudaMemcpyAsync", 61, 63, correlation=2)
    build.copy(70, 80, correlation=2)
    timeline, waits = waits_of(build)
    assert [timeline.trace.names[timeline.calls.name[c]] for c in waits.call] == ["cudaMemcpy"]
    assert timeline.operations.end_ns[waits.operation].tolist() == [50 * US]
    assert waits.return_ns.tolist() == [10 * US]
