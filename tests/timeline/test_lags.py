"""Latencies that the dependency model takes over from the measurement, to the nanosecond."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder

from stallscope.timeline.lags import launch_lags, stream_lags
from stallscope.timeline.timeline import Timeline


def lags_of(build: TraceBuilder) -> tuple[list[int], list[int]]:
    """Launch and stream lags of every operation."""
    timeline = Timeline(build.trace())
    arguments = timeline.operations, timeline.calls, timeline.launch, timeline.stream_order.predecessor
    return launch_lags(*arguments).tolist(), stream_lags(*arguments).tolist()


def test_an_idle_stream_gives_its_launch_latency_and_a_busy_one_the_median() -> None:
    """Latencies 6, 8 and 13 µs on an idle stream; the kernel launched 20 µs before the last one ended gets 8."""
    build = TraceBuilder()
    for correlation, (launch, start, end) in enumerate([(0, 6, 10), (20, 28, 40), (50, 63, 90), (70, 95, 99)], start=1):
        build.launch(launch, launch + 4, correlation=correlation)
        build.kernel(start, end, correlation=correlation)
    build.kernel(300, 310, stream=9)
    launches, streams = lags_of(build)
    assert launches == [6 * US, 8 * US, 13 * US, 8 * US, 0]
    assert streams == [0, 5 * US, 5 * US, 5 * US, 0]


@pytest.mark.parametrize(("start", "lag"), [(54, 54_000), (54.001, 5_000)])
def test_a_launch_takes_at_most_50_us_beyond_its_call(start: float, lag: int) -> None:
    build = TraceBuilder()
    build.launch(100, 104, correlation=1)
    build.kernel(100 + start, 101 + start, correlation=1)
    assert lags_of(build)[0] == [lag]


@pytest.mark.parametrize(("launched", "lag"), [(100, 9_000), (99.999, 6_000)])
def test_a_stream_is_idle_from_the_end_of_its_operation(launched: float, lag: int) -> None:
    """The first launch takes 6 µs; the second one 9, which counts when the stream was idle as its call began."""
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(6, 100, correlation=1)
    build.launch(launched, 101, correlation=2)
    build.kernel(launched + 9, 120, correlation=2)
    assert lags_of(build)[0] == [6_000, lag]


@pytest.mark.parametrize(("start", "lag"), [(120, 20_000), (120.001, 1_500), (101, 1_000), (99, -1_000)])
def test_a_queued_operation_follows_within_20_us(start: float, lag: int) -> None:
    build = TraceBuilder()
    for correlation, (begin, end) in enumerate([(10, 100), (start, 130)], start=1):
        build.launch(5 * correlation, 5 * correlation + 1, correlation=correlation)
        build.kernel(begin, end, correlation=correlation)
    assert lags_of(build)[1] == [0, lag]


@pytest.mark.parametrize(("returned", "lag"), [(100, 7_000), (100.001, 1_500)])
def test_an_operation_is_queued_when_its_launch_had_returned(returned: float, lag: int) -> None:
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(10, 100, correlation=1)
    build.launch(90, returned, correlation=2)
    build.kernel(107, 120, correlation=2)
    assert lags_of(build)[1] == [0, lag]


def test_operations_without_a_launch_take_the_usual_pause_at_most() -> None:
    build = TraceBuilder()
    for start, end in ((0, 10), (11, 20), (30, 40)):
        build.kernel(start, end)
    assert lags_of(build) == ([0, 0, 0], [0, 1_000, 1_500])
    build.call("cudaEventRecord", 0, 1)
    assert lags_of(build) == ([0, 0, 0], [0, 1_000, 1_500])
