"""How long each rank waited in a collective, and what of it goes away."""

from __future__ import annotations

import numpy as np
import pytest
from matched import STEP_NS, blaming, rank_with, ranks_with, taking

from stallscope.timeline.collectives import CollectiveKind
from stallscope.waits.ranks.arrivals import Arrivals, comparable
from stallscope.waits.ranks.base import Ranks

FIRST_SPAN = (STEP_NS - 300, STEP_NS - 200)


@pytest.mark.parametrize(
    ("first", "others", "count", "kept"),
    [
        ([500, 100], [100, 100], 5, 5),
        ([501, 100], [100, 100], 5, 4),
        ([501, 100], [100, 100], 4, 4),  # too few to know what is usual
        ([3, 0, None], [0, 0, None], 5, 4),
    ],
)
def test_a_first_collective_five_times_the_median_sets_its_communicator_up(
    first: list[int | None], others: list[int | None], count: int, kept: int
) -> None:
    found = comparable(taking([first, *[others] * (count - 1)]))
    assert found.row[:, 0].tolist() == list(range(count - kept, count))


def test_each_communicator_has_a_set_up_of_its_own() -> None:
    durations = [[100, 100], [501, 100], *[[100, 100]] * 8]
    found = comparable(taking(durations, communicator=[0, 1] * 5))
    assert found.row[:, 0].tolist() == [0, *range(2, 10)]


def test_collectives_that_do_not_wait_for_every_rank_are_not_compared() -> None:
    kinds = [CollectiveKind.BROADCAST, CollectiveKind.BARRIER, CollectiveKind.SEND_RECV]
    assert comparable(taking([[1, 1]] * 3, kind=kinds)).row[:, 0].tolist() == [1]


def test_waiting_is_what_goes_beyond_the_shortest_stay_of_those_who_took_part() -> None:
    """On a clock that began a second late: 50 of rank 0's 200 ns of waiting had something else beside them."""
    origin = 1_000_000_000
    summaries = [
        rank_with(0, exposed=[(FIRST_SPAN[0] - origin, FIRST_SPAN[0] - origin + 150)], origin_ns=origin),
        rank_with(1),
        rank_with(2, exposed=[]),
    ]
    found = Arrivals.of(Ranks(tuple(summaries)), taking([[300, 100, None], [None, 250, 50]]))
    assert found.wait_ns.tolist() == [[200, 0, 0], [0, 200, 0]]
    assert found.exposed_ns.tolist() == [[150, 0, 0], [0, 200, 0]]
    np.testing.assert_array_equal(found.duration_ns, [[300, 100, np.nan], [np.nan, 250, 50]])
    assert {p: (s.starts.tolist(), s.ends.tolist()) for p, s in found.exposed_waiting().items()} == {
        0: ([FIRST_SPAN[0] - origin], [FIRST_SPAN[0] - origin + 150]),
        1: ([2 * STEP_NS - 250], [2 * STEP_NS - 50]),
        2: ([], []),
    }


def test_only_the_time_until_the_next_to_last_arrives_is_saved() -> None:
    """Rank 1 comes 100 after rank 2 and is 50 late; rank 0 then waits 150 instead of 200, half of it exposed."""
    ranks = Ranks((rank_with(0, exposed=[FIRST_SPAN]), rank_with(1), rank_with(2)))
    waits = Arrivals.of(ranks, taking([[300, 100, 200], [300, 100, None], [101, 100, None], [500, 300, 300]]))
    late = blaming([[0, 50, 0], [0, 30, 0], [0, 1, 0], [0, 0, 0]])
    assert waits.exposed_ns[:, 0].tolist() == [100, 0, 0, 0]
    assert waits.saved_ns(late) == (50 + 50 + 30 + 1, 25 + 50)


def test_a_nanosecond_of_waiting_is_saved_whole() -> None:
    waits = Arrivals.of(ranks_with({}, {}), taking([[101, 100]]))
    assert waits.saved_ns(blaming([[0, 1]])) == (1, 1)


def test_no_more_is_saved_than_was_waited_and_nothing_when_nobody_is_late() -> None:
    waits = Arrivals.of(ranks_with({}, {}, {}), taking([[300, 100, 200]]))
    assert waits.saved_ns(blaming([[0, 1_000, 0]])) == (100 + 100, 200)  # then rank 2 is the last
    assert waits.saved_ns(blaming([[0, 0, 0]])) == (0, 0)
    assert waits.saved_ns(blaming([[0, 0, 50]])) == (0, 0)
