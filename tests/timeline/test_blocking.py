"""What blocking calls cost: the idle time under them and the run-ahead they took away."""

from __future__ import annotations

from build import US, TraceBuilder

from stallscope.timeline.timeline import Timeline


def blocked(build: TraceBuilder) -> list[tuple[str, int, int]]:
    timeline = Timeline(build.trace())
    part = timeline.blocked
    names = [timeline.trace.names[timeline.calls.name[c]] for c in part.call]
    return sorted(set(zip(names, (part.start_ns // US).tolist(), (part.end_ns // US).tolist(), strict=True)))


def test_wait_for_a_busy_device_costs_only_what_follows_the_drain() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(5, 1000, correlation=1)
    build.call("cudaStreamSynchronize", 10, 1010)
    build.launch(1040, 1045, correlation=2)
    build.kernel(1050, 1100, correlation=2)
    assert blocked(build) == [("cudaStreamSynchronize", 1000, 1010), ("cudaStreamSynchronize", 1010, 1050)]


def test_a_short_wait_is_charged_no_more_than_it_took_away() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(5, 30, correlation=1)
    build.call("cudaStreamSynchronize", 10, 31)
    build.launch(5000, 5005, correlation=2)
    build.kernel(5010, 5020, correlation=2)
    assert blocked(build) == [("cudaStreamSynchronize", 30, 31), ("cudaStreamSynchronize", 31, 51)]


def test_queued_work_behind_the_wait_is_no_cost() -> None:
    build = TraceBuilder()
    build.launch(0, 2, correlation=1)
    build.launch(2, 4, correlation=2)
    build.kernel(5, 50, correlation=1)
    build.kernel(52, 90, correlation=2)
    build.call("cudaDeviceSynchronize", 6, 91)
    assert blocked(build) == []


def test_wait_of_another_thread_costs_the_launching_thread_nothing() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1, thread=1)
    build.kernel(5, 100, correlation=1)
    build.call("cudaStreamSynchronize", 10, 130, thread=2)
    build.launch(120, 125, correlation=2, thread=1)
    build.kernel(127, 140, correlation=2)
    assert blocked(build) == []


def test_lost_run_ahead_reaches_past_a_short_kernel_but_not_past_a_long_one() -> None:
    def program(second_kernel_us: int) -> TraceBuilder:
        build = TraceBuilder()
        build.launch(0, 5, correlation=1)
        build.kernel(5, 1000, correlation=1)
        build.call("cudaStreamSynchronize", 10, 1000)
        build.launch(1010, 1015, correlation=2)
        build.kernel(1020, 1020 + second_kernel_us, correlation=2)
        build.launch(1040 + second_kernel_us, 1045 + second_kernel_us, correlation=3)
        build.kernel(1050 + second_kernel_us, 1100 + second_kernel_us, correlation=3)
        return build

    assert blocked(program(20)) == [("cudaStreamSynchronize", 1000, 1020), ("cudaStreamSynchronize", 1040, 1070)]
    assert blocked(program(200)) == [("cudaStreamSynchronize", 1000, 1020)]


def test_the_call_that_held_longest_is_blamed() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(5, 1000, correlation=1)
    build.call("cudaFree", 10, 900)
    build.call("cudaStreamSynchronize", 905, 1001)
    build.launch(1020, 1025, correlation=2)
    build.kernel(1030, 1100, correlation=2)
    assert ("cudaFree", 1001, 1030) in blocked(build)
