"""Why a rank was late: its ledger before late arrivals against the mean of the punctual ranks'."""

from __future__ import annotations

import pytest
from matched import blaming, ranks_with, taking

from stallscope.waits.ranks.causes import causes_of

EVEN = taking([[1, 1, 1]] * 4)
LATE = [[0, 0, 9], [0, 0, 0], [0, 0, 1], [0, 0, 5]]
"""Rank 2 is late in all collectives but the second."""


def test_a_cause_is_what_the_late_rank_has_beyond_the_mean_of_the_others_before_late_arrivals() -> None:
    ranks = ranks_with(
        {"input.wait": [10, 0, 10, 10]},
        {"input.wait": [20, 0, 40, 0]},
        {"input.wait": [100, 5_000, 200, 300], "host.busy": [500, 9_000, 0, 1]},
    )
    expected = [("input.wait", 85 + 175 + 295), ("host.busy", 501)]
    assert causes_of(ranks, EVEN, blaming(LATE)) == expected


@pytest.mark.parametrize(("late_ns", "explained"), [(0.0, 300), (1.0, 500)])
def test_an_arrival_that_was_not_late_after_all_explains_nothing(late_ns: float, explained: int) -> None:
    """A persistent straggler's mean lateness counts in every collective, also where it came first."""
    ranks = ranks_with({}, {"input.wait": [200, 300]})
    late = blaming([[0, 9], [0, 9]], late=[[0, late_ns], [0, 9]])
    assert causes_of(ranks, taking([[1, 1]] * 2), late) == [("input.wait", explained)]


def test_absent_ranks_are_not_in_the_mean_and_rows_are_counted_from_the_first() -> None:
    ranks = ranks_with({"input.wait": [10, 99]}, {"input.wait": [30, 99]}, {"input.wait": [100, 200]})
    instances = taking([[1, 1, 1], [1, None, 1]])
    assert causes_of(ranks, instances, blaming([[0, 0, 5], [0, 0, 5]])) == [("input.wait", 80 + 101)]


def test_a_persistent_straggler_is_not_what_another_is_compared_with_unless_nobody_else_is_there() -> None:
    ledgers = ({"input.wait": [10]}, {"input.wait": [50]}, {"input.wait": [100]})
    late = blaming([[0, 20, 60]], persistent=[1, 2])
    assert causes_of(ranks_with(*ledgers), taking([[1, 1, 1]]), late) == [("input.wait", 40 + 90)]
    alone = causes_of(ranks_with(*ledgers), taking([[None, 1, 1]]), late)
    assert alone == []  # 50 beyond the other one for rank 2, as much below it for rank 1
    alone = causes_of(ranks_with(*ledgers), taking([[None, 1, 1]]), blaming([[0, 0, 60]], persistent=[1, 2]))
    assert alone == [("input.wait", 50)]


def test_some_collectives_without_a_punctual_rank_count_whole() -> None:
    """In the second collective only the two stragglers take part."""
    ranks = ranks_with({"input.wait": [10, 7]}, {"input.wait": [50, 60]}, {"input.wait": [100, 100]})
    late = blaming([[0, 0, 60], [0, 0, 60]], persistent=[1, 2])
    assert causes_of(ranks, taking([[1, 1, 1], [None, 1, 1]]), late) == [("input.wait", 90 + 100)]


@pytest.mark.parametrize(
    ("ledger", "causes"),
    [
        ({"input.wait": [85], "host.busy": [15]}, [("input.wait", 85)]),
        ({"input.wait": [85], "host.busy": [16]}, [("input.wait", 85), ("host.busy", 16)]),
        ({"input.wait": [113], "host.busy": [20]}, [("input.wait", 113), ("host.busy", 20)]),
        ({"input.wait": [113], "host.busy": [20], "alloc.sync": [1]}, [("input.wait", 113)]),
        ({"d": [25], "b": [25], "c": [25], "a": [25]}, [("a", 25), ("b", 25), ("c", 25)]),
        ({"input.wait": [0]}, []),
        ({}, []),
    ],
)
def test_the_three_largest_from_15_percent_of_the_lateness_on(
    ledger: dict[str, list[int]], causes: list[tuple[str, int]]
) -> None:
    assert causes_of(ranks_with({}, ledger), taking([[1, 1]]), blaming([[0, 100]])) == causes


def test_less_of_a_wait_than_the_others_have_is_no_part_of_the_lateness() -> None:
    ranks = ranks_with({"sync.stream": [1_000]}, {"input.wait": [90], "host.busy": [20]})
    assert causes_of(ranks, taking([[1, 1]]), blaming([[0, 100]])) == [("input.wait", 90), ("host.busy", 20)]


def test_without_anybody_to_blame_there_is_no_cause() -> None:
    assert causes_of(ranks_with({}, {"input.wait": [9]}), taking([[1, 1]]), blaming([[0, 0]])) == []
