"""Which calls wait for a scalar: the copy and the synchronization right behind it, of the same thread."""

from __future__ import annotations

import pytest
from build import TraceBuilder

from stallscope.model.events import CopyKind
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import View
from stallscope.waits.readbacks import scalar_calls
from stallscope.waits.rules.sync_scalar import RULE


def waiting(build: TraceBuilder) -> list[tuple[str, int]]:
    """Name and start of the calls, µs."""
    timeline = Timeline(build.trace())
    view = View(timeline, RULE.meta)
    names = timeline.trace.names
    return [
        (names[view.calls.name[row]], int(view.calls.start_ns[row]) // 1_000) for row in scalar_calls(view).tolist()
    ]


def read_back(build: TraceBuilder, at: float, *, size: int = 4, name: str = "cudaMemcpyAsync", thread: int = 1) -> None:
    """A copy to the host whose call takes 10 µs and the device 5."""
    correlation = int(at) + 1
    build.call(name, at, at + 10, correlation=correlation, thread=thread)
    build.copy(at + 4, at + 9, size=size, kind=CopyKind.DEVICE_TO_HOST, correlation=correlation)


def test_calls_nested_in_the_copy_do_not_part_it_from_its_synchronization() -> None:
    build = TraceBuilder()
    read_back(build, 0)
    build.call("cuMemcpyDtoHAsync", 1, 8)
    build.call("cuCtxGetCurrent", 2, 3)
    build.call("cudaStreamSynchronize", 12, 20)
    assert waiting(build) == [("cudaMemcpyAsync", 0), ("cudaStreamSynchronize", 12)]


@pytest.mark.parametrize(("pause", "follows"), [(20.0, True), (20.001, False)])
def test_the_synchronization_follows_within_20_microseconds(pause: float, *, follows: bool) -> None:
    build = TraceBuilder()
    read_back(build, 0)
    build.call("cudaStreamSynchronize", 10 + pause, 40)
    assert bool(waiting(build)) == follows


def test_what_another_thread_calls_next_is_not_behind_the_copy() -> None:
    build = TraceBuilder()
    read_back(build, 0, thread=1)
    build.call("cudaStreamSynchronize", 12, 20, thread=2)
    assert waiting(build) == []


def test_a_call_between_them_or_none_behind_is_no_wait() -> None:
    build = TraceBuilder()
    read_back(build, 0)
    build.call("cudaGetDevice", 11, 12)
    build.call("cudaStreamSynchronize", 13, 20)
    read_back(build, 30)
    assert waiting(build) == []


@pytest.mark.parametrize(("size", "found"), [(64, True), (65, False)])
def test_a_scalar_has_at_most_64_bytes(size: int, *, found: bool) -> None:
    build = TraceBuilder()
    read_back(build, 0, size=size, name="cudaMemcpy")
    assert bool(waiting(build)) == found
