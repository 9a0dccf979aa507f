"""Which loads of code are compilations that never end: the limits of time, of tenths, and of threads and processes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from build import TraceBuilder

from stallscope.timeline.recompiling import COMPILES_NS
from stallscope.timeline.timeline import Timeline

MS = 1_000.0
ORIGIN = 250.0
"""Start of the window, milliseconds."""


def flagged(build: TraceBuilder) -> list[float]:
    """Start of every flagged load in milliseconds of the window."""
    timeline = Timeline(build.trace())
    return [int(start) / 1e6 - ORIGIN for start in timeline.calls.start_ns[timeline.recompiles]]


def window() -> TraceBuilder:
    """One second of window over two devices: tenths of 100 ms."""
    build = TraceBuilder(devices=2)
    for device, first, last in ((0, 0, 700), (1, 300, 1_000)):
        build.kernel((ORIGIN + first) * MS, (ORIGIN + first) * MS + 1, device=device)
        build.kernel((ORIGIN + last) * MS - 1, (ORIGIN + last) * MS, device=device)
    return build


def loads(build: TraceBuilder, starts: Iterable[float], length: float = 6, pid: int = 1) -> TraceBuilder:
    for start in starts:
        build.call("cuModuleLoadData", (ORIGIN + start) * MS, (ORIGIN + start + length) * MS, thread=pid, pid=pid)
    return build


@pytest.mark.parametrize(
    ("starts", "found"),
    [
        ((500, 600, 700), [500, 600, 700]),
        ((500, 600, 690), []),  # two tenths
        ((499, 600, 700), []),  # one of them in the first half
        ((700, 800, 999), [700, 800, 999]),
        ((700, 800, 1_000), []),  # one of them behind the window
        ((50, 500, 600, 700), [50, 500, 600, 700]),  # the first ones of a loop that goes on
    ],
)
def test_compilations_in_three_tenths_of_the_second_half_go_on(starts: list[float], found: list[float]) -> None:
    assert flagged(loads(window(), starts)) == found


@pytest.mark.parametrize(("nanoseconds", "count"), [(COMPILES_NS, 3), (COMPILES_NS - 1, 0)])
def test_a_load_of_five_milliseconds_compiles(nanoseconds: int, count: int) -> None:
    assert len(flagged(loads(window(), (500, 600, 700), nanoseconds / 1e6))) == count


@pytest.mark.parametrize(("thread", "free", "count"), [(1, 5, 4), (1, 4.999, 0), (2, 250, 0)])
def test_so_does_the_host_between_a_launch_and_a_short_load(thread: int, free: float, count: int) -> None:
    """The launch of another thread tells nothing about this one."""
    build = window()
    for start in (500, 600, 700, 800):
        at = (ORIGIN + start - free) * MS
        build.launch(at - 1, at, correlation=0, thread=thread)
    assert len(flagged(loads(build, (500, 600, 700, 800), 0.1))) == count


def test_every_process_must_go_on_by_itself() -> None:
    build = loads(loads(window(), (500, 600, 700)), (510, 810), pid=2)
    assert flagged(build) == [500, 600, 700]
    assert flagged(loads(loads(window(), (500, 600)), (700, 800), pid=2)) == []


def test_other_calls_of_that_length_are_no_loads() -> None:
    build = window()
    for start in (500, 600, 700):
        build.call("cudaFree", (ORIGIN + start) * MS, (ORIGIN + start + 6) * MS)
    assert flagged(build) == []


def test_loads_without_any_device_work_are_nothing() -> None:
    assert flagged(loads(TraceBuilder(), (500, 600, 700))) == []
