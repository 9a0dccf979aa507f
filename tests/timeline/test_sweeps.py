"""The compiled loops against numpy: the same arrays for any times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, NvtxRanges
from stallscope.model.names import Names
from stallscope.timeline.calls import CallIndex, HostCalls, SpanIndex, host_calls
from stallscope.timeline.gaps import _neighbours, _neighbours_by_keys
from stallscope.timeline.grouping import grouped_order, groups, groups_up_to
from stallscope.timeline.intervals import IntervalSet, positions, union
from stallscope.timeline.launches import launch_rows
from stallscope.timeline.native import sweeps
from stallscope.timeline.nvtx import RangeTree, nesting
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import picked
from stallscope.waits.base import Claims
from stallscope.waits.ledger import take_claims

T = TypeVar("T")
Int64Array = npt.NDArray[np.int64]

pytestmark = pytest.mark.skipif(sweeps() is None, reason="the loops were not compiled (no C compiler)")

time = st.integers(-20, 60)
spans = st.lists(st.tuples(time, st.integers(0, 9)), max_size=25)
owned_spans = st.lists(st.tuples(st.integers(0, 3), time, st.integers(0, 9)), max_size=25)
queries = st.lists(st.tuples(st.integers(-1, 4), time, st.integers(0, 30)), max_size=25)


def in_numpy(question: Callable[[], T]) -> T:
    """Ask without the library."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            patch.setattr(f"stallscope.{module}.sweeps", lambda: None)
        return question()


MODULES = (
    "timeline.intervals",
    "timeline.grouping",
    "timeline.calls",
    "timeline.gaps",
    "timeline.nvtx",
    "timeline.launches",
    "timeline.rows",
    "waits.ledger",
)


def columns(rows: list[tuple[int, ...]], width: int) -> Iterator[Int64Array]:
    """The columns of rows; the last one is a length and becomes an end."""
    table = np.array(rows, np.int64).reshape(-1, width)
    for k in range(width - 1):
        yield table[:, k]
    yield table[:, width - 2] + table[:, width - 1]


def same(left: object, right: object) -> None:
    np.testing.assert_equal(left, right)


@given(st.lists(time, max_size=25), st.lists(time, max_size=25), st.sampled_from(["left", "right"]))
def test_positions(line: list[int], wanted: list[int], side: str) -> None:
    ordered, asked = np.sort(np.array(line, np.int64)), np.array(wanted, np.int64)
    same(positions(ordered, asked, side), np.searchsorted(ordered, asked, side=side))  # type: ignore[arg-type, call-overload]


@given(st.integers(0, 2**40), st.lists(st.integers(0, 2**41), min_size=40, max_size=400))
def test_positions_of_distant_times(seed: int, line: list[int]) -> None:
    ordered = np.sort(np.array(line, np.int64))
    asked = np.random.default_rng(seed).integers(-5, 2**41, 300)
    same(positions(ordered, asked), np.searchsorted(ordered, asked))
    same(positions(ordered, np.sort(asked), "right"), np.searchsorted(ordered, np.sort(asked), side="right"))


@given(spans, spans)
def test_union_and_cover(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    starts, ends = columns(left, 2)
    found = union(starts, ends)
    same(found, in_numpy(lambda: union(starts, ends)))
    asked = tuple(columns(right, 2))
    same(found.covered(*asked), in_numpy(lambda: found.covered(*asked)))


@given(owned_spans, st.booleans())
def test_order(rows: list[tuple[int, int, int]], longest_first: bool) -> None:  # noqa: FBT001
    group, starts, ends = columns(rows, 3)

    def ask() -> Int64Array:
        return grouped_order(group.astype(np.int32), starts, ends, longest_first=longest_first)

    same(ask(), in_numpy(ask))


@given(st.lists(st.tuples(st.integers(-2, 2), st.booleans(), st.integers(0, 2**40)), max_size=40))
def test_groups(rows: list[tuple[int, bool, int]]) -> None:
    table = np.array(rows, np.int64).reshape(-1, 3)
    keys = table[:, 0].astype(np.int32), table[:, 1].astype(np.bool_), table[:, 2]
    same(groups(*keys), in_numpy(lambda: groups(*keys)))


def test_many_groups() -> None:
    keys = np.random.default_rng(3).integers(0, 5000, 20_000)
    same(groups(keys, keys % 7), in_numpy(lambda: groups(keys, keys % 7)))
    assert groups_up_to(4000, keys) is None
    assert in_numpy(lambda: groups_up_to(4000, keys)) is None


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(0, 1), st.integers(0, 2**40)), max_size=20))
def test_groups_of_wide_keys(rows: list[tuple[int, int, int]]) -> None:
    table = np.array(rows + rows, np.int64).reshape(-1, 3)
    keys = table[:, 0], table[:, 1], table[:, 2]
    same(groups(*keys), in_numpy(lambda: groups(*keys)))


@given(owned_spans)
def test_nested_ranges(rows: list[tuple[int, int, int]]) -> None:
    _, starts, ends = columns(rows, 3)
    order = np.lexsort((-ends, starts))
    same(nesting(starts[order], ends[order]), in_numpy(lambda: nesting(starts[order], ends[order])))


@given(owned_spans, queries)
def test_innermost_ranges(rows: list[tuple[int, int, int]], asked: list[tuple[int, int, int]]) -> None:
    thread, starts, ends = columns(rows, 3)
    rest = {name: np.zeros(len(rows)) for name in NvtxRanges.COLUMNS.keys() - {"thread", "start_ns", "end_ns"}}
    ranges = NvtxRanges.of(thread=thread, start_ns=starts, end_ns=ends, **rest)
    at, times, _ = columns(asked, 3)

    def ask() -> tuple[object, ...]:
        tree = RangeTree(ranges, Names(), np.zeros(4, np.int32))
        inner = tree.innermost(at.astype(np.int32), times)
        return inner, tree.path_ids(inner)

    same(ask(), in_numpy(ask))


@given(owned_spans)
def test_gaps(rows: list[tuple[int, int, int]]) -> None:
    device, starts, ends = columns(rows, 3)
    order = np.lexsort((ends, starts, device))
    if len(order):
        table = device[order].astype(np.int32), starts[order], ends[order]
        same(_neighbours(*table), _neighbours_by_keys(*table))


def calls_of(rows: list[tuple[int, int, int]]) -> HostCalls:
    thread, starts, ends = columns(sorted(rows, key=lambda row: row[1]), 3)
    rest = {name: np.zeros(len(thread)) for name in ApiCalls.COLUMNS.keys() - {"thread", "start_ns", "end_ns"}}
    return host_calls(ApiCalls.of(thread=thread, start_ns=starts, end_ns=ends, **rest), Names())


@given(owned_spans, queries)
def test_calls(rows: list[tuple[int, int, int]], asked: list[tuple[int, int, int]]) -> None:
    thread, starts, ends = columns(asked, 3)

    def ask() -> tuple[object, ...]:
        calls = calls_of(rows)
        index = CallIndex(calls, np.flatnonzero(calls.outer))
        spans = thread.astype(np.int32), starts, ends
        return calls.outer, index.overlapping(*spans), index.longest_outside(*spans)

    same(ask(), in_numpy(ask))


def test_spans_of_no_thread_are_passed_over() -> None:
    thread, times = np.array([NO_ROW, 0, 0, 2], np.int32), np.array([0, 0, 20, 0])
    index = SpanIndex(thread, times, times + 10)
    asked = np.array([NO_ROW, 0, 1, 2], np.int32), np.zeros(4, np.int64), np.full(4, 25)
    same(index.overlapping(*asked), ([1, 1, 3], [1, 2, 3]))
    same(index.longest_outside(*asked), [0, 10, 25, 15])
    same(index.longest_outside(*asked), in_numpy(lambda: index.longest_outside(*asked)))


ids = st.lists(st.tuples(st.integers(0, 2), st.one_of(st.integers(-1, 12), st.just(2**40))), max_size=25)


@given(ids, ids)
def test_launches(called: list[tuple[int, int]], launched: list[tuple[int, int]]) -> None:
    def table(kind: type[T], rows: list[tuple[int, int]]) -> T:
        columns = dict(zip(("process", "correlation"), np.array(rows, np.int64).reshape(-1, 2).T, strict=True))
        rest = {name: np.zeros(len(rows)) for name in kind.COLUMNS.keys() - columns.keys()}  # type: ignore[attr-defined]
        return kind.of(**columns, **rest)  # type: ignore[attr-defined, no-any-return]

    calls, operations = table(HostCalls, called), table(Operations, launched)
    same(launch_rows(operations, calls), in_numpy(lambda: launch_rows(operations, calls)))


@given(owned_spans, spans, st.booleans())
def test_claims(rows: list[tuple[int, int, int]], open_to: list[tuple[int, int]], by_start: bool) -> None:  # noqa: FBT001
    device, starts, ends = columns(sorted(rows) if by_start else rows, 3)
    rest = {name: np.full(len(device), NO_ROW) for name in Claims.COLUMNS.keys() - {"device", "start_ns", "end_ns"}}
    claims = Claims.of(device=device, start_ns=starts, end_ns=ends, **rest)
    free = union(*columns(open_to, 2))

    def ask() -> tuple[IntervalSet, IntervalSet, Int64Array]:
        owned = np.zeros(len(claims), np.int64)
        return *take_claims(free, claims, 1, owned), owned

    got, left, owned = ask()
    same((got, left, owned), in_numpy(ask))
    assert got.total_ns() + left.total_ns() == free.total_ns()
    assert owned.sum() == got.total_ns()


@pytest.mark.parametrize("dtype", [np.int8, np.bool_, np.int16, np.int32, np.int64, np.float64])
@pytest.mark.parametrize("step", [1, 2])
def test_picked(dtype: type[np.generic], step: int) -> None:
    """Any width of values, also of every second one; int16 goes by numpy."""
    values = np.arange(-7, 93)[::step].astype(dtype)
    rows = np.array([0, 5, 5, len(values) - 1, 1], np.int32)
    found = picked(values, rows)
    assert found.dtype == dtype
    assert found.tolist() == values[rows].tolist() == in_numpy(lambda: picked(values, rows)).tolist()
    assert picked(values, rows[::2]).tolist() == values[rows[::2]].tolist()


@pytest.mark.parametrize("row", [-1, 4, 2**31 - 1])
def test_rows_that_a_table_does_not_have_are_refused(row: int) -> None:
    values, rows = np.arange(4), np.array([0, row], np.int32)
    for ask in (lambda: picked(values, rows), lambda: in_numpy(lambda: picked(values, rows))):
        with pytest.raises(IndexError):
            ask()
    assert picked(values[:0], rows[:0]).tolist() == []
