"""Which threads of a process take turns and are one chain, and the last wait of a chain before a time."""

from __future__ import annotations

import numpy as np
import pytest
from build import US, TraceBuilder
from hypothesis import given
from hypothesis import strategies as st

from stallscope.timeline.host_chains import ChainIndex, HostChains, host_chains
from stallscope.timeline.timeline import Timeline


def chains_of(build: TraceBuilder) -> HostChains:
    timeline = Timeline(build.trace())
    return host_chains(timeline.calls, len(timeline.trace.threads))


def turns(build: TraceBuilder, *lengths: int, pid: int = 1, at: int = 0) -> TraceBuilder:
    """Calls of 5 µs every 10 µs, in turns of the given lengths, by two threads of a process."""
    for turn, length in enumerate(lengths):
        for _ in range(length):
            build.call("cudaEventRecord", at, at + 5, thread=10 * pid + turn % 2, pid=pid)
            at += 10
    return build


@pytest.mark.parametrize(("lengths", "merged"), [((10, 5, 5), True), ((10, 5, 4), False)])
def test_threads_that_change_after_a_tenth_of_the_calls_take_turns(lengths: tuple[int, ...], *, merged: bool) -> None:
    found = chains_of(turns(TraceBuilder(), *lengths))
    assert found.merged is merged
    assert found.of_thread.tolist() == ([0, 0] if merged else [0, 1])
    assert found.begin_ns.tolist()[0] == 0
    assert found.begin_ns.tolist()[1] == (np.iinfo(np.int64).max if merged else 100 * US)


@pytest.mark.parametrize(("calls", "merged"), [(100, True), (99, False)])
def test_a_hundredth_of_the_calls_may_overlap(calls: int, *, merged: bool) -> None:
    """The second thread's one call begins before the first thread's last one has ended."""
    build = turns(TraceBuilder(), calls - 1)
    build.call("cudaEventRecord", 10 * calls - 16, 10 * calls, thread=11)
    assert chains_of(build).merged is merged


def test_a_call_that_begins_as_the_other_thread_s_ends_does_not_overlap() -> None:
    build = turns(TraceBuilder(), 20)
    build.call("cudaEventRecord", 195, 200, thread=11)
    assert chains_of(build).merged


def test_a_long_call_of_another_thread_overlaps_all_that_begins_under_it() -> None:
    """The first thread is inside one call while the other one makes 20."""
    build = TraceBuilder()
    build.call("cudaDeviceSynchronize", 0, 300, thread=10)
    turns(build, 0, 20, at=50)
    assert not chains_of(build).merged


def test_calls_inside_others_do_not_count() -> None:
    build = turns(TraceBuilder(), 10, 10)
    for inner in range(30):
        build.call("cuEventRecord", 10 * (inner % 20) + 1, 10 * (inner % 20) + 2, thread=10 + inner % 20 // 10)
    assert chains_of(build).merged


def test_every_process_is_judged_by_its_own_threads() -> None:
    """Process 1 takes turns, process 2 does not, process 3 has one thread and one that never calls."""
    build = turns(turns(TraceBuilder(), 30, 30, at=40), *[1] * 20, pid=2, at=7)
    turns(build, 3, pid=3, at=25)
    build.thread(99, pid=3)
    found = chains_of(build)
    assert found.of_thread.tolist() == [0, 0, 2, 3, 4, 5]
    never = np.iinfo(np.int64).max
    assert found.begin_ns.tolist() == [40 * US, never, 7 * US, 17 * US, 25 * US, never]
    assert found.merged


ends = st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 30)), max_size=15)


@given(ends, st.lists(st.tuples(st.integers(-1, 4), st.integers(-40, 60)), max_size=15))
def test_the_last_wait_before_a_time(waits: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    waits = sorted(waits)
    index = ChainIndex(*np.array(waits, np.int64).reshape(-1, 2).T)
    found = index.last_before(*np.array(asked, np.int64).reshape(-1, 2).T)
    expected = [
        max((k for k, (c, end) in enumerate(waits) if c == chain and end <= t), default=-1) for chain, t in asked
    ]
    assert found.tolist() == expected


def test_a_single_thread_is_not_merged() -> None:
    assert not chains_of(turns(TraceBuilder(), 9)).merged


def test_waits_out_of_order_are_an_error() -> None:
    with pytest.raises(ValueError, match="sorted"):
        ChainIndex(np.array([0, 0, 0]), np.array([4, 9, 5]))
