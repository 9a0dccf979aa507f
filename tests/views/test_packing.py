"""Rows of overlapping intervals."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stallscope.views.packing import _first_free, pack

intervals = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=40)


def packed(spans: list[tuple[int, int]]) -> list[tuple[int, int, int]]:
    ordered = sorted(((start, start + length) for start, length in spans), key=lambda span: (span[0], -span[1]))
    starts, ends = (np.array([span[side] for span in ordered], np.int64) for side in range(2))
    return [(*span, int(row)) for span, row in zip(ordered, pack(starts, ends), strict=True)]


def first_free(spans: list[tuple[int, int, int]]) -> list[int]:
    """The plain definition: the lowest row whose last interval has ended."""
    rows, last = [], {}
    for start, end, _ in spans:
        row = next(r for r in range(len(spans)) if last.get(r, -1) <= start)
        last[row] = end
        rows.append(row)
    return rows


@given(intervals)
def test_intervals_of_one_row_never_overlap(spans: list[tuple[int, int]]) -> None:
    rows = packed(spans)
    for i, (start, end, row) in enumerate(rows):
        for other_start, other_end, other in rows[:i]:
            assert other != row or other_end <= start or end <= other_start


@given(intervals)
def test_crossing_intervals_take_the_first_free_row(spans: list[tuple[int, int]]) -> None:
    ordered = sorted(((start, start + length) for start, length in spans), key=lambda span: (span[0], -span[1]))
    starts, ends = (np.array([span[side] for span in ordered], np.int64) for side in range(2))
    assert _first_free(starts, ends).tolist() == first_free([(start, end, 0) for start, end in ordered])


def test_nested_intervals_get_their_depth() -> None:
    assert [row for _, _, row in packed([(0, 10), (1, 8), (2, 3), (20, 5)])] == [0, 1, 2, 0]
