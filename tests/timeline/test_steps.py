"""Which repeated range counts as the program's step."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder

from stallscope.timeline.nvtx import MAX_NESTING, StepRanges
from stallscope.timeline.step_bounds import MIN_PERIODS, step_bounds
from stallscope.timeline.timeline import Timeline


def steps_of(build: TraceBuilder) -> tuple[StepRanges | None, Timeline]:
    timeline = Timeline(build.trace())
    return timeline.steps, timeline


def ranges(build: TraceBuilder, name: str, count: int, length: float, period: float, **where: int) -> TraceBuilder:
    for i in range(count):
        build.nvtx(name, period * i, period * i + length, **where)
    return build


@pytest.mark.parametrize(("count", "steps"), [(2, 0), (3, 3), (4, 4)])
def test_three_times_is_a_step(count: int, steps: int) -> None:
    found, _ = steps_of(ranges(TraceBuilder(), "step", count, 80, 100))
    assert (len(found.starts) if found else 0) == steps


@pytest.mark.parametrize(("length", "is_step"), [(30, True), (29, False)])
def test_steps_cover_three_tenths_of_their_time(length: float, *, is_step: bool) -> None:
    """Three ranges from 0 to 300 µs: 90 µs of them are enough."""
    build = TraceBuilder()
    for start in (0, 100, 300 - length):
        build.nvtx("step", start, start + length)
    assert (steps_of(build)[0] is not None) is is_step


def test_the_name_that_covers_most_is_the_step() -> None:
    build = ranges(ranges(TraceBuilder(), "short", 10, 40, 100), "long", 5, 100, 200, thread=2)
    found, timeline = steps_of(build)
    assert found is not None
    assert timeline.trace.names[found.name] == "long"
    assert found.thread == 1
    assert found.starts.tolist() == [0, 200 * US, 400 * US, 600 * US, 800 * US]
    assert found.ends.tolist() == [100 * US, 300 * US, 500 * US, 700 * US, 900 * US]


def test_equal_names_of_two_threads_are_two_candidates() -> None:
    build = ranges(ranges(TraceBuilder(), "step", 2, 80, 100), "step", 2, 80, 100, thread=2)
    assert steps_of(build)[0] is None


def test_ranges_deeper_than_the_limit_are_left_out() -> None:
    build = TraceBuilder()
    for depth in range(MAX_NESTING + 2):
        build.nvtx(f"level {depth}", depth, 2_000 - depth)
    tree = Timeline(build.trace()).ranges
    assert len(tree.ranges) == MAX_NESTING


@pytest.mark.parametrize(("periods", "found"), [(MIN_PERIODS, True), (MIN_PERIODS - 1, False)])
def test_without_ranges_a_kernel_that_runs_20_times_gives_the_period(periods: int, *, found: bool) -> None:
    build = TraceBuilder()
    for i in range(periods):
        build.launch(100 * i, 100 * i + 1, correlation=2 * i + 1)
        build.kernel(100 * i + 5, 100 * i + 40, correlation=2 * i + 1, name="main")
        if i % 2:
            build.kernel(100 * i + 50, 100 * i + 60, correlation=0, name="other")
    bounds = step_bounds(Timeline(build.trace()))
    assert (bounds is not None) is found
    if bounds is not None:
        assert (bounds.name, bounds.basis, bounds.count) == ("main", "kernel", MIN_PERIODS - 1)
        assert bounds.edges[0].tolist() == [(100 * i + 40) * US for i in range(periods)]


def test_a_step_ends_when_what_was_launched_in_it_has_ended() -> None:
    """The host leaves each range after 10 µs; the device works 90 µs on what it was given."""
    build = TraceBuilder()
    for i in range(3):
        build.nvtx("step", 20 * i, 20 * i + 10)
        build.launch(20 * i + 1, 20 * i + 2, correlation=i + 1)
        build.kernel(100 * i + 5, 100 * i + 95, correlation=i + 1)
    bounds = step_bounds(Timeline(build.trace()))
    assert bounds is not None
    assert (bounds.name, bounds.basis) == ("step", "nvtx")
    assert bounds.edges[0].tolist() == [95 * US, 195 * US, 295 * US]
