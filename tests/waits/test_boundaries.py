"""Thresholds to the nanosecond: at the documented length one verdict, a nanosecond beyond the other."""

from __future__ import annotations

import pytest
from build import TraceBuilder
from diagnose import analysis, charges, finding, outcome
from long_launch import long_launch

from stallscope.model.events import CopyKind, MemoryKind
from stallscope.waits.profiler_cost import CALL_NS
from stallscope.waits.runner import GRAPH_REFUSAL

NS = 0.001
"""A nanosecond in the builder's microseconds."""


@pytest.mark.parametrize(("stretch_us", "wait"), [(150.0, "launch.gap"), (150 + NS, "host.busy")])
def test_150_us_of_host_work_end_a_burst(stretch_us: float, wait: str) -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(2, 5, correlation=1)
    build.launch(5 + stretch_us, 10 + stretch_us, correlation=2)
    build.kernel(9 + stretch_us, 12 + stretch_us, correlation=2)
    assert charges(build) == {wait: pytest.approx(4 + stretch_us)}


@pytest.mark.parametrize(("gap_us", "wait"), [(10.0, "launch.drain"), (10 + NS, "unknown.unattributed")])
def test_10_us_between_queued_kernels_are_the_devices_own(gap_us: float, wait: str) -> None:
    build = TraceBuilder()
    for correlation in (1, 2):
        build.launch(correlation, correlation + 0.5, correlation=correlation)
    build.kernel(10, 100, correlation=1)
    build.kernel(100 + gap_us, 200, correlation=2)
    assert charges(build) == {wait: pytest.approx(gap_us)}


@pytest.mark.parametrize(("gap_us", "wait"), [(50.0, "launch.drain"), (50 + NS, "unknown.unattributed")])
def test_50_us_between_two_nodes_of_a_replay_are_the_devices_own(gap_us: float, wait: str) -> None:
    build = TraceBuilder(graph_trace="node")
    build.call("cudaGraphLaunch", 0, 5, correlation=1)
    build.kernel(10, 100, correlation=1, graph_node=1)
    build.kernel(100 + gap_us, 200, correlation=1, graph_node=2)
    assert charges(build) == {wait: pytest.approx(gap_us)}


def read_back(size: int, pause_us: float, sync: str = "cudaStreamSynchronize") -> TraceBuilder:
    """Five times: a kernel, a copy to the host, and a wait that begins `pause_us` after the copy call."""
    build = TraceBuilder()
    for i in range(5):
        t = 1000 * i
        build.launch(t, t + 5, correlation=2 * i + 1)
        build.kernel(t + 10, t + 900, correlation=2 * i + 1)
        build.call("cudaMemcpyAsync", t + 20, t + 25, correlation=2 * i + 2)
        build.copy(
            t + 902, t + 903, size=size, kind=CopyKind.DEVICE_TO_HOST, source=MemoryKind.DEVICE,
            target=MemoryKind.PINNED, correlation=2 * i + 2,
        )  # fmt: skip
        build.call(sync, t + 25 + pause_us, t + 910)
    return build


@pytest.mark.parametrize(
    ("size", "pause_us", "wait"),
    [
        (64, 20.0, "sync.scalar"),
        (65, 20.0, "sync.stream"),
        (64, 20 + NS, "sync.stream"),
    ],
)
def test_a_scalar_is_64_bytes_and_waited_for_within_20_us(size: int, pause_us: float, wait: str) -> None:
    found = charges(read_back(size, pause_us))
    assert {w for w in found if w.startswith("sync.")} == {wait}
    assert found[wait] == pytest.approx(4 * (1010 - 903))


@pytest.mark.parametrize(("length_us", "found"), [(50.0, True), (50 - NS, False)])
def test_a_stream_ordered_allocation_is_slow_from_50_us_on(length_us: float, *, found: bool) -> None:
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(2, 10, correlation=1)
    build.call("cudaMallocAsync", 11, 11 + length_us, correlation=2)
    build.launch(12 + length_us, 13 + length_us, correlation=3)
    build.kernel(14 + length_us, 40 + length_us, correlation=3)
    assert ("alloc.pool_trim" in charges(build)) is found


def idle_part(idle_us: float, busy_us: float) -> TraceBuilder:
    """One wait with `idle_us` of idle time behind it."""
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(2, 2 + busy_us / 2, correlation=1)
    end = 2 + busy_us / 2
    build.call("cudaStreamSynchronize", 1, end + idle_us - 2, correlation=2)
    build.launch(end + idle_us - 2, end + idle_us - 1, correlation=3)
    build.kernel(end + idle_us, end + idle_us + busy_us / 2, correlation=3)
    return build


@pytest.mark.parametrize(
    ("idle_us", "told", "severity"),
    [(100.0, True, "warning"), (99.0, False, ""), (1000.0, True, "error"), (999.0, True, "warning")],
)
def test_a_finding_is_told_from_1_percent_and_an_error_from_10(idle_us: float, severity: str, *, told: bool) -> None:
    build = idle_part(idle_us, 10_000 - idle_us)
    assert charges(build) == {"sync.stream": idle_us}
    findings = analysis(build, everything=False).findings
    assert [f.wait for f in findings] == (["sync.stream"] if told else [])
    assert not told or findings[0].severity == severity
    assert outcome(build, "sync.stream")[0] == "found"


@pytest.mark.parametrize(("idle_us", "told"), [(1000.0, True), (999.0, False)])
def test_below_1_percent_a_millisecond_a_step_is_told(idle_us: float, *, told: bool) -> None:
    """Four steps of 200 ms, a wait in each; the last has its idle time behind it too."""
    build = TraceBuilder()
    for i in range(5):
        t, end = 200_000 * i, 200_000 * (i + 1) - idle_us
        if i < 4:
            build.nvtx("step", t, t + 199_999)
        build.launch(t - 2, t - 1, correlation=2 * i + 1)
        build.kernel(t, end if i < 4 else t + 10, correlation=2 * i + 1)
        build.call("cudaStreamSynchronize", t, end + idle_us - 2, correlation=2 * i + 2)
    found = analysis(build, everything=False).findings
    assert [f.wait for f in found] == (["sync.stream"] if told else [])


def lost_run_ahead(work_us: float) -> TraceBuilder:
    """A wait of 500 µs under which the device drains; kernels of `work_us` are then launched one by one, each late."""
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(2, 500, correlation=1)
    build.call("cudaStreamSynchronize", 1, 501, correlation=2)
    t = 501.0
    for correlation in (3, 4):
        build.launch(t + 10, t + 11, correlation=correlation)
        build.kernel(t + 12, t + 12 + work_us, correlation=correlation)
        t += 12 + work_us
    return build


@pytest.mark.parametrize(("work_us", "gaps"), [(100 - NS, 2), (100.0, 1)])
def test_100_us_of_device_work_let_the_host_catch_up(work_us: float, gaps: int) -> None:
    found = charges(lost_run_ahead(work_us))
    assert found["sync.stream"] == pytest.approx(13 + 12 * (gaps - 1))
    assert found.get("launch.gap", 0) == pytest.approx(12 * (2 - gaps))


@pytest.mark.parametrize(("early_us", "wait"), [(2 - NS, "sync.stream"), (2.0, "launch.gap")])
def test_a_call_that_ends_2_us_before_the_drain_may_still_have_waited_for_it(early_us: float, wait: str) -> None:
    """Clocks of host and device agree to about a microsecond."""
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(2, 500, correlation=1)
    build.call("cudaStreamSynchronize", 1, 500 - early_us, correlation=2)
    build.launch(510, 511, correlation=3)
    build.kernel(512, 520, correlation=3)
    assert charges(build) == {wait: 12}


@pytest.mark.parametrize(("length_us", "told"), [(150.0, True), (150 - NS, False)])
def test_a_launch_call_blocks_when_it_takes_ten_times_the_median(length_us: float, *, told: bool) -> None:
    build = long_launch(length_us, usual_us=15)
    assert outcome(build, "launch.queue_full")[0] == ("found" if told else "clean")


@pytest.mark.parametrize(("idle_us", "told"), [(50.0, True), (50 + NS, False)])
def test_a_queue_is_full_beside_a_device_at_work_for_95_percent_of_the_call(idle_us: float, *, told: bool) -> None:
    build = TraceBuilder()
    for i in range(10):
        build.launch(10 * i, 10 * i + 5, correlation=i + 1)
    build.launch(200, 1_200, correlation=11)
    for i in range(10):
        build.kernel(5 + 50 * i, 55 + 50 * i, correlation=i + 1)
    build.kernel(505 + idle_us, 2_000, correlation=11)
    assert outcome(build, "launch.queue_full")[0] == ("found" if told else "clean")


@pytest.mark.parametrize(("length_us", "told"), [(100.0, True), (100 - NS, False)])
def test_a_launch_call_blocks_on_a_full_queue_from_100_us_on(length_us: float, *, told: bool) -> None:
    build = long_launch(length_us, usual_us=5)
    assert outcome(build, "launch.queue_full")[0] == ("found" if told else "clean")


def test_the_low_end_is_three_tenths_and_the_high_end_leaves_a_floor() -> None:
    found = finding(idle_part(1000.0, 9000.0), "sync.stream")
    assert found.wait_ns == 1_000_000
    assert abs(found.recoverable_ns.low - 0.3 * (found.recoverable_ns.high - CALL_NS)) <= 2  # one call, profiled
    assert found.share == 0.1


@pytest.mark.parametrize("wait", ["launch.gap", "host.busy", "sync.stream"])
def test_idle_rules_refuse_where_graph_replays_are_hidden(wait: str) -> None:
    build = TraceBuilder(graph_trace="graph")
    build.call("cudaGraphLaunch", 0, 5, correlation=1)
    build.launch(50, 55, correlation=2)
    build.kernel(60, 70, correlation=2)
    build.launch(90, 95, correlation=3)
    build.kernel(100, 110, correlation=3)
    assert outcome(build, wait) == ("not_applicable", GRAPH_REFUSAL)
    assert charges(build) == {"unknown.unattributed": 30}
