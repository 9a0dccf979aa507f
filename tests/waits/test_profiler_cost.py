"""The low end of a wait for the host allows for what the profiler adds to every call."""

from __future__ import annotations

from build import US, TraceBuilder
from diagnose import finding

from stallscope.waits.profiler_cost import CALL_NS


def loop(extra_calls: int, *, at: float) -> TraceBuilder:
    """Five kernels of 500 µs, each launched 100 µs late, with more calls at this time of every step."""
    build = TraceBuilder()
    for i in range(5):
        t = 600 * i
        for k in range(extra_calls):
            build.call("cudaGetDevice", t + at + k, t + at + k + 0.5)
        build.launch(t + 580, t + 585, correlation=i + 1)
        build.kernel(t + 600, t + 1_100, correlation=i + 1)
    return build


def low_ns(build: TraceBuilder) -> int:
    found = finding(build, "launch.gap").recoverable_ns
    assert 0 <= found.low <= found.high
    return found.low


def test_every_call_in_or_shortly_before_a_gap_lowers_the_low_end() -> None:
    without = low_ns(loop(0, at=520))
    for at in (470, 520):
        assert abs(without - low_ns(loop(5, at=at)) - 0.3 * 4 * 5 * CALL_NS) <= 1


def test_calls_that_the_host_made_long_before_the_gap_do_not() -> None:
    assert low_ns(loop(5, at=200)) == low_ns(loop(0, at=200))


def test_the_low_end_does_not_fall_below_zero() -> None:
    assert low_ns(loop(50, at=515)) == 0
    assert 50 * CALL_NS > 100 * US
