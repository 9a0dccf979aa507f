"""Innermost ranges and paths against a naive search."""

from __future__ import annotations

import numpy as np
import pytest
from build import US, TraceBuilder
from hypothesis import given
from hypothesis import strategies as st

from stallscope.model.columns import NO_ROW
from stallscope.timeline.nvtx import RangeTree
from stallscope.timeline.timeline import Timeline


def tree_of(build: TraceBuilder) -> tuple[RangeTree, Timeline]:
    timeline = Timeline(build.trace())
    return timeline.ranges, timeline


def path_at(build: TraceBuilder, time_us: int, thread: int = 0) -> list[str]:
    tree, timeline = tree_of(build)
    row = tree.innermost(np.array([thread], np.int32), np.array([time_us * US], np.int64))
    return [timeline.trace.names[n] for n in tree.path(int(row[0]))]


def nested() -> TraceBuilder:
    build = TraceBuilder()
    build.nvtx("step", 0, 100)
    build.nvtx("forward", 10, 40)
    build.nvtx("layer", 12, 20)
    build.nvtx("backward", 50, 90)
    return build


@pytest.mark.parametrize(
    ("time", "path"),
    [
        (5, ["step"]),
        (12, ["step", "forward", "layer"]),
        (20, ["step", "forward"]),
        (45, ["step"]),
        (60, ["step", "backward"]),
        (100, []),
    ],
)
def test_path_at_a_time_is_what_is_open(time: int, path: list[str]) -> None:
    assert path_at(nested(), time) == path


def test_tool_domains_are_no_part_of_the_nesting() -> None:
    build = nested()
    build.nvtx("ncclAllReduce", 12, 18, domain="NCCL")
    assert path_at(build, 15) == ["step", "forward", "layer"]


def test_another_thread_borrows_the_path_of_the_annotated_one_at_that_time() -> None:
    build = nested()
    build.thread(2)
    tree, timeline = tree_of(build)
    rows, borrowed = tree.at(np.array([1], np.int32), np.array([0], np.int32), np.array([60 * US], np.int64))
    assert borrowed.tolist() == [True]
    assert [timeline.trace.names[n] for n in tree.path(int(rows[0]))] == ["step", "backward"]


def test_steps_are_the_outermost_name_that_repeats() -> None:
    build = TraceBuilder()
    for i in range(4):
        build.nvtx("step", 100 * i, 100 * i + 80)
        build.nvtx("forward", 100 * i + 1, 100 * i + 30)
    build.nvtx("setup", 500, 5000)
    steps = Timeline(build.trace()).steps
    assert steps is not None
    assert (steps.ends - steps.starts).tolist() == [80 * US] * 4


def test_two_repeats_are_no_steps() -> None:
    build = TraceBuilder()
    build.nvtx("step", 0, 10)
    build.nvtx("step", 20, 30)
    assert Timeline(build.trace()).steps is None


ranges = st.lists(st.tuples(st.integers(0, 50), st.integers(1, 30), st.integers(0, 1)), min_size=1, max_size=12)


@given(ranges, st.lists(st.tuples(st.integers(0, 1), st.integers(-2, 85)), min_size=1, max_size=10))
def test_innermost_is_an_open_range_and_none_only_if_none_is(
    rows: list[tuple[int, int, int]], queries: list[tuple[int, int]]
) -> None:
    build = TraceBuilder()
    build.thread(0)
    build.thread(1)
    for start, length, thread in rows:
        build.nvtx(f"r{start}-{length}", start, start + length, thread=thread)
    tree, _ = tree_of(build)
    thread = np.array([t for t, _ in queries], np.int32)
    times = np.array([t * US for _, t in queries], np.int64)
    for (on, at), row in zip(queries, tree.innermost(thread, times).tolist(), strict=True):
        is_open = [r for r in rows if r[2] == on and r[0] <= at < r[0] + r[1]]
        if row == NO_ROW:
            assert not is_open
        else:
            assert tree.ranges.thread[row] == on
            assert tree.ranges.start_ns[row] <= at * US < tree.ranges.end_ns[row]


@given(ranges)
def test_path_ids_are_equal_exactly_where_paths_are(rows: list[tuple[int, int, int]]) -> None:
    build = TraceBuilder()
    for start, length, thread in rows:
        build.nvtx(f"name {length % 3}", start, start + length, thread=thread)
    tree, _ = tree_of(build)
    every = np.arange(len(tree.ranges))
    ids = tree.path_ids(every).tolist()
    paths = [tree.path(int(row)) for row in every]
    assert len(set(zip(ids, paths, strict=True))) == len(set(ids)) == len(set(paths))
