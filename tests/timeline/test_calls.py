"""Host calls in the order (thread, start, longest first)."""

from __future__ import annotations

from build import US, TraceBuilder

from stallscope.timeline.timeline import Timeline


def test_of_two_calls_that_begin_together_the_longer_one_is_the_outer() -> None:
    build = TraceBuilder()
    build.call("cuLaunchKernel", 5, 6)
    build.call("cudaLaunchKernel", 5, 9)
    build.call("cudaGetDevice", 1, 2)
    calls = Timeline(build.trace()).calls
    assert (calls.end_ns // US).tolist() == [2, 9, 6]
    assert calls.outer.tolist() == [True, True, False]
