"""Interval algebra against sets of integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stallscope.timeline.intervals import (
    IntervalSet,
    complement,
    expand,
    intersect,
    subtract,
    union,
)

Pairs = list[tuple[int, int]]
intervals = st.lists(st.tuples(st.integers(-20, 40), st.integers(-20, 40)), max_size=12)


def points(pairs: Pairs) -> set[int]:
    return {p for start, end in pairs for p in range(start, end)}


def as_set(pairs: Pairs) -> IntervalSet:
    return union(np.array([p[0] for p in pairs], np.int64), np.array([p[1] for p in pairs], np.int64))


def points_of(found: IntervalSet) -> set[int]:
    return points(list(zip(found.starts.tolist(), found.ends.tolist(), strict=True)))


def is_canonical(found: IntervalSet) -> bool:
    return bool(np.all(found.ends > found.starts) and np.all(found.starts[1:] >= found.ends[:-1]))


@given(intervals)
def test_union_covers_what_the_intervals_cover(pairs: Pairs) -> None:
    found = as_set(pairs)
    assert points_of(found) == points(pairs)
    assert is_canonical(found)
    assert found.total_ns() == len(points(pairs))


def test_union_merges_touching_and_drops_empty_intervals() -> None:
    found = as_set([(0, 5), (5, 9), (20, 20), (30, 25)])
    assert found.starts.tolist() == [0]
    assert found.ends.tolist() == [9]


@given(intervals, st.integers(-25, 20), st.integers(0, 40))
def test_complement_is_the_rest_of_the_span(pairs: Pairs, low: int, length: int) -> None:
    found = complement(as_set(pairs), low, low + length)
    assert points_of(found) == set(range(low, low + length)) - points(pairs)


@given(intervals, intervals)
def test_intersection_and_difference_are_those_of_the_points(left: Pairs, right: Pairs) -> None:
    both = intersect(as_set(left), as_set(right))
    assert points_of(both) == points(left) & points(right)
    assert is_canonical(both)
    assert points_of(subtract(as_set(left), as_set(right))) == points(left) - points(right)


@given(intervals, st.lists(st.tuples(st.integers(-30, 50), st.integers(0, 30)), max_size=8))
def test_covered_measures_every_span(pairs: Pairs, spans: list[tuple[int, int]]) -> None:
    starts = np.array([s for s, _ in spans], np.int64)
    ends = np.array([s + n for s, n in spans], np.int64)
    expected = [len(points(pairs) & set(range(s, s + n))) for s, n in spans]
    assert as_set(pairs).covered(starts, ends).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=8))
def test_expand_lists_every_index_of_every_row(ranges: list[tuple[int, int]]) -> None:
    first = np.array([a for a, _ in ranges], np.int64)
    after = np.array([b for _, b in ranges], np.int64)
    rows, indices = expand(first, after)
    expected = [(row, i) for row, (a, b) in enumerate(ranges) for i in range(a, b)]
    assert list(zip(rows.tolist(), indices.tolist(), strict=True)) == expected


@pytest.mark.parametrize("far", [1 << 40, (1 << 62) - 10])
def test_large_times_stay_exact(far: int) -> None:
    found = as_set([(far, far + 3), (far + 1, far + 7)])
    assert found.total_ns() == 7
