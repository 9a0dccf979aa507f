"""Lanes: what stands in which row, what is linked to what, and exact coverage."""

from __future__ import annotations

import numpy as np
import pytest
from build import TraceBuilder
from lane_samples import burst_build, lanes_of

from stallscope.model import events
from stallscope.views.lanes import NOWHERE, LaneTable


@pytest.fixture(scope="module")
def table() -> LaneTable:
    return lanes_of(burst_build())


def lane(table: LaneTable, key: str) -> slice:
    found = table.lanes[table.positions[key]]
    return slice(found.first, found.after)


def test_a_device_has_waits_streams_and_copies_and_a_thread_its_calls_and_ranges(table: LaneTable) -> None:
    assert [(one.group, one.label, one.depth) for one in table.lanes] == [
        ("gpu0", "waits", 0),
        ("gpu0", "stream 7", 0),
        ("gpu0", "copies D→H", 0),
        ("t0", "CUDA API", 0),
        ("t0", "NVTX", 0),
        ("t0", "NVTX", 1),
    ]
    assert [(g.key, g.label, g.note) for g in table.groups] == [
        ("gpu0", "GPU 0", "NVIDIA H200"),
        ("t0", "thread 1", ""),
    ]


def test_intervals_of_a_lane_are_sorted_and_disjoint(table: LaneTable) -> None:
    for one in table.lanes:
        starts, ends = (column[one.first : one.after] for column in (table.intervals.start_ns, table.intervals.end_ns))
        assert np.all(starts[1:] >= ends[:-1]), one.key


def test_kernels_wear_their_short_name_and_copies_a_descriptive_one(table: LaneTable) -> None:
    names = {table.names[n] for n in table.intervals.name[lane(table, "gpu0/p0c1s7")]}
    assert names == {"vectorized_elementwise_kernel", "copy D→H (pinned → device)"}


def test_an_operation_links_to_its_call_and_the_call_back(table: LaneTable) -> None:
    stream = table.lanes[table.positions["gpu0/p0c1s7"]]
    for at in range(stream.first, stream.after):
        call = int(table.intervals.link[at])
        assert table.lanes[table.lane_of(call)].key == "t0/api"  # type: ignore[index]
        assert table.intervals.link[call] == at


def test_a_wait_links_to_the_operation_that_ends_it(table: LaneTable) -> None:
    waits = lane(table, "gpu0/waits")
    gap = table.charges.before != NOWHERE
    links = table.intervals.link[waits][gap]
    assert np.array_equal(
        table.intervals.start_ns[links] >= table.intervals.end_ns[waits][gap], np.ones(gap.sum(), bool)
    )


def test_coverage_before_an_instant_is_exact(table: LaneTable) -> None:
    times = np.arange(-5_000, 4_100_000, 3_331, dtype=np.int64)
    for position, one in enumerate(table.lanes):
        for cover in table.covers[position]:
            rows = one.first + np.flatnonzero(table.intervals.kind[one.first : one.after] == cover.kind)
            starts, ends = table.intervals.start_ns[rows], table.intervals.end_ns[rows]
            slow = [int(np.clip(np.minimum(ends, t) - starts, 0, None).sum()) for t in times]
            assert table.covered_before(cover, times).tolist() == slow


def test_concurrent_kernels_of_a_stream_lie_side_by_side() -> None:
    build = TraceBuilder()
    build.kernel(0, 100)
    build.kernel(50, 150)
    table = lanes_of(build)
    assert [one.key for one in table.lanes if one.kind == "stream"] == ["gpu0/p0c1s7", "gpu0/p0c1s7/1"]


def test_a_stream_of_nothing_but_communication_is_not_shown_twice() -> None:
    build = TraceBuilder()
    build.kernel(0, 100, stream=7)
    build.kernel(10, 60, name="ncclDevKernel_AllReduce", stream=20)
    labels = [one.label for one in lanes_of(build).lanes if one.group == "gpu0"]
    assert labels == ["waits", "stream 7", "stream 20"]


def test_communication_among_other_work_gets_a_lane_of_its_own() -> None:
    build = TraceBuilder()
    build.kernel(0, 100, stream=7)
    build.kernel(110, 160, name="ncclDevKernel_AllReduce", stream=7)
    assert [one.label for one in lanes_of(build).lanes if one.group == "gpu0"][-1] == "communication"


def test_everything_recorded_of_a_thread_is_shown() -> None:
    build = burst_build(steps=1)
    build.span(events.OsCalls, 800, 820, name="pthread_cond_wait")
    build.span(events.GilSpans, 830, 840, waiting=True)
    build.span(events.SchedSpans, 850, 860)
    labels = [one.label for one in lanes_of(build).lanes if one.group == "t0"]
    assert labels == ["CUDA API", "NVTX", "NVTX", "OS runtime", "Python GIL", "off the CPU"]


def test_page_migrations_have_a_lane() -> None:
    build = burst_build(steps=1)
    build.migration(10, 20, kind=events.CopyKind.HOST_TO_DEVICE, cause=events.MigrationCause.PAGE_FAULT)
    assert "page migrations" in [one.label for one in lanes_of(build).lanes]


def test_an_empty_trace_has_no_lanes() -> None:
    table = lanes_of(TraceBuilder())
    assert len(table) == 0
    assert table.lanes == ()
    assert table.span_ns == (0, 1)
