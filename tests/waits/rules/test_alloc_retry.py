"""alloc.retry and alloc.pinned: what they state, and both sides of what counts as one."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import analysis, charges, evidence, finding

from stallscope.waits.profiler_cost import CALL_NS

RETRY, PINNED, TABLE = "alloc.retry", "alloc.pinned", "CUPTI_ACTIVITY_KIND_RUNTIME"
FAILS, FREE, WORKS = ("cudaMalloc", 2), ("cudaFree", 0), ("cudaMalloc", 0)
LAUNCH = ("cudaLaunchKernel", 0)
OTHERS = "Some of these calls run on other threads; they are blamed for the lock they hold."


def chain(*calls: tuple[str, int], thread: int = 1, times: int = 1) -> TraceBuilder:
    """`times` over: a kernel of 1 ms, then these calls (name, result) of 300 µs each, then the next launch."""
    build = TraceBuilder()
    t = 0
    for i in range(times + 1):
        build.launch(t, t + 5, correlation=i + 1)
        build.kernel(t + 10, t + 1_000, correlation=i + 1)
        t += 1_000
        for name, result in calls if i < times else ():
            build.call(name, t, t + 300, result=result, thread=thread)
            t += 300
    return build


def test_a_failure_its_frees_and_the_allocation_are_stated_and_charged() -> None:
    build = chain(FAILS, FREE, FREE, FREE, WORKS)
    assert charges(build)[RETRY] == 5 * 300
    assert evidence(build, RETRY) == {
        "allocations that failed with out of memory": (1, "count", TABLE),
        "times a cache was given back before an allocation": (1, "count", TABLE),
        "frees in them": (3, "count", TABLE),
    }
    found = finding(build, RETRY)
    assert found.evidence_level == "supported"
    assert not any("num_alloc_retries" in caveat for caveat in found.caveats)
    assert found.recoverable_ns.high == 1_500 * US
    assert found.recoverable_ns.low == int(0.3 * (1_500 * US - 5 * CALL_NS))  # the profiler may have added that


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ((FAILS, FREE, FREE, WORKS), False),  # two frees only
        ((FAILS, FREE, FREE, FREE), False),  # no allocation works
        ((WORKS, FREE, FREE, FREE), False),  # it came before the frees
        ((FAILS, FREE, FREE, FREE, WORKS, WORKS), True),
        ((FAILS, FREE, FREE, FREE, WORKS, WORKS, WORKS), False),  # as many as were freed
        ((FREE, FREE, FREE, FAILS, WORKS), True),
        ((("cudaMalloc", 1), FREE, FREE, FREE, WORKS), False),  # another error
        ((FAILS, FREE, LAUNCH, FREE, FREE, WORKS), False),
    ],
)
def test_a_retry_fails_frees_three_blocks_and_allocates_fewer(
    calls: tuple[tuple[str, int], ...], *, found: bool
) -> None:
    assert (RETRY in charges(chain(*calls))) is found


@pytest.mark.parametrize(("times", "found"), [(3, True), (2, False)])
def test_without_a_failure_three_bursts_are_needed(times: int, *, found: bool) -> None:
    build = chain(FREE, FREE, FREE, WORKS, times=times)
    assert (RETRY in charges(build)) is found
    if found:
        assert charges(build) == {RETRY: 3 * 1_200, "launch.gap": 3 * 10}
        assert [value for value, *_ in evidence(build, RETRY).values()] == [0, 3, 9]
        assert "memory_stats()['num_alloc_retries']" in finding(build, RETRY).caveats[0]


def test_calls_of_two_threads_are_no_chain() -> None:
    build = chain(FAILS, FREE, FREE)
    build.call("cudaFree", 950, 990, thread=2)
    build.call("cudaMalloc", 990, 999, thread=2)
    assert RETRY not in charges(build)


def pinning(*lengths_us: float, launch_us: float = 5) -> TraceBuilder:
    """A gap of 1 ms on thread 1; from its start each further thread pins for this long, and then a launch."""
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.kernel(2, 100, correlation=1)
    for i, length in enumerate(lengths_us):
        build.call("cudaHostAlloc", 100, 100 + length, thread=2 + i)
    build.launch(1_095 - launch_us, 1_095, correlation=2)
    build.kernel(1_100, 1_200, correlation=2)
    return build


@pytest.mark.parametrize(("length_us", "found"), [(100, True), (99.999, False)])
def test_threads_contend_from_100_us_on(length_us: float, *, found: bool) -> None:
    build = pinning(length_us, length_us)
    assert charges(build).get(PINNED, 0) == (100 if found else 0)


def test_calls_of_other_threads_are_blamed_by_the_longest_with_a_caveat() -> None:
    build = pinning(300, 700)
    found = finding(build, PINNED)
    assert found.wait_ns == 700 * US
    assert found.evidence_level == "indicated"
    assert OTHERS in found.caveats
    assert [value for value, *_ in evidence(build, PINNED).values()] == [1, 700 * US, 0]


def test_one_pinning_thread_explains_the_launch_call_that_it_holds() -> None:
    assert charges(pinning(900, launch_us=600))[PINNED] == 1_000 - 495


def test_pinning_on_the_launching_thread_is_supported_and_has_no_caveat() -> None:
    build = chain(("cudaHostAlloc", 0))
    found = finding(build, PINNED)
    assert (found.wait_ns, found.evidence_level) == (300 * US, "supported")
    assert OTHERS not in found.caveats
    assert [value for value, *_ in evidence(build, PINNED).values()] == [1, 300 * US, 0]


def test_pinning_of_another_process_holds_up_nobody_here() -> None:
    build = pinning()
    for thread in (2, 3):
        build.call("cudaHostAlloc", 100, 900, thread=thread, pid=2)
    assert analysis(build).devices[0].ledger.get(PINNED, 0) == 0
