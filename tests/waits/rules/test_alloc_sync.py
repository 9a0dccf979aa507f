"""alloc.sync is charged where the device drained or idled under the call, never by name."""

from __future__ import annotations

from build import TraceBuilder
from diagnose import charges, finding


def loop(free_ends: str) -> TraceBuilder:
    """Kernel, then cudaFree: it returns early (asynchronous) or after the kernel (drained)."""
    build = TraceBuilder()
    for i in range(5):
        t = 1000 * i
        build.launch(t, t + 5, correlation=2 * i + 1)
        build.kernel(t + 5, t + 505, correlation=2 * i + 1)
        build.call("cudaFree", t + 10, t + (520 if free_ends == "after the kernel" else 20))
        build.launch(t + 540 if free_ends == "after the kernel" else t + 30, t + 550, correlation=2 * i + 2)
        build.kernel(t + 560, t + 990, correlation=2 * i + 2)
    return build


def test_a_free_under_which_the_device_drains_is_charged_with_what_follows() -> None:
    build = loop("after the kernel")
    assert charges(build)["alloc.sync"] == 5 * 55
    found = finding(build, "alloc.sync")
    assert found.where[0].api == "cudaFree"
    assert found.count == 10
    assert found.evidence_level == "supported"


def test_a_free_that_returns_while_the_device_works_costs_nothing() -> None:
    assert "alloc.sync" not in charges(loop("at once"))


def test_a_malloc_inside_an_idle_gap_is_charged_for_its_own_time_only() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(5, 10, correlation=1)
    build.call("cudaMalloc", 20, 100)
    build.launch(110, 115, correlation=2)
    build.kernel(120, 200, correlation=2)
    found = charges(build)
    assert found["alloc.sync"] == 80
    assert found["launch.gap"] == 30
