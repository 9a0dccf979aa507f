"""launch.gap: bursts of late launches; not slow hosts, not queued work, not waits."""

from __future__ import annotations

from build import TraceBuilder
from diagnose import charges, finding, waits


def burst(host_us: float, count: int = 20) -> TraceBuilder:
    build = TraceBuilder()
    t = 0.0
    for i in range(count):
        build.launch(t, t + 5, correlation=i + 1)
        build.kernel(t + 6, t + 8, correlation=i + 1)
        t += 5 + host_us
    return build


def test_a_burst_counts_whole_gaps_and_shows_their_three_parts() -> None:
    build = burst(host_us=10)
    assert charges(build) == {"launch.gap": 19 * 13}
    found = finding(build, "launch.gap")
    assert [e.value for e in found.evidence[:4]] == [19, 19 * 7_000, 19 * 5_000, 19 * 1_000]
    assert found.recoverable_ns.high == 19 * (13_000 - 1_500)


def test_a_long_host_stretch_is_not_a_launch_gap() -> None:
    assert charges(burst(host_us=400)) == {"host.busy": 19 * 403}


def test_queued_kernels_are_not_a_launch_gap() -> None:
    build = TraceBuilder()
    for i in range(20):
        build.launch(i * 2, i * 2 + 1, correlation=i + 1)
        build.kernel(50 + i * 11, 60 + i * 11, correlation=i + 1)
    assert charges(build) == {"launch.drain": 19}
    assert waits(build) == []


def test_1185_launches_of_40_us_are_launch_bound() -> None:
    """sam2#768: 1,185 launches on one thread, explicitly no synchronization."""
    build = TraceBuilder()
    for i in range(1185):
        build.launch(40 * i, 40 * i + 40, correlation=i + 1)
        build.kernel(40 * i + 40, 40 * i + 46, correlation=i + 1)
    assert waits(build) == ["launch.gap"]
    assert finding(build, "launch.gap").share > 0.84
    assert any("graph" in e.title for e in finding(build, "launch.gap").experiments)
