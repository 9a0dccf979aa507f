"""comm.order: which collectives are crossed, and from when on it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matched import running
from rank_rows import rank

from stallscope.waits.ranks import order
from stallscope.waits.ranks.base import Ranks

Spans = list[list[tuple[int, int] | None]]


def moved(distance: int) -> Spans:
    """Rank 0 runs `distance` collectives and then another; rank 1 runs that one first."""
    mine = [(10 * i, 10 * i + 5) for i in range(distance + 1)]
    return [[mine[i], mine[i + 1] if i < distance else mine[0]] for i in range(distance + 1)]


@pytest.mark.parametrize(("distance", "flags"), [(1, 2), (4, 5), (5, 5), (6, 5)])
def test_a_collective_is_crossed_with_the_four_before_it(distance: int, flags: int) -> None:
    instances = running(moved(distance), communicator=[0] * distance + [1])
    found = order._crossed(instances)
    assert found.tolist() == [False] * (distance + 1 - flags) + [True] * flags


@pytest.mark.parametrize(
    ("second", "groups", "crossed"),
    [
        ([(10, 15), (0, 5)], [0, 1], True),
        ([(5, 15), (0, 5)], [0, 1], True),  # one ends as the other begins
        ([(4, 15), (0, 5)], [0, 1], False),  # side by side
        ([(0, 5), (5, 15)], [0, 1], False),
        ([(10, 15), (0, 5)], [1, 1], False),  # one communicator has one order
        ([None, (0, 5)], [0, 1], False),
        ([(10, 15), None], [0, 1], False),
    ],
)
def test_two_ranks_must_run_both_one_after_the_other(
    second: list[tuple[int, int] | None], groups: list[int], *, crossed: bool
) -> None:
    rows: Spans = [[(20, 25), second[0], (50, 60)], [(25, 35), second[1], (60, 70)]]
    assert order._crossed(running(rows, communicator=groups)).tolist() == [crossed] * 2


def crossed(count: int, *, window: int) -> Ranks:
    """As often: rank 0 runs A and then B, rank 1 B and then A; 50 µs of waiting a time. Rank 2 is in A alone."""
    rounds = [100_000 * i for i in range(count)]
    first = [row for t in rounds for row in ((t, t + 50_000, 0), (t + 50_000, t + 60_000, 1))]
    second = [row for t in rounds for row in ((t + 10_000, t + 30_000, 1), (t + 40_000, t + 50_000, 0))]
    third = [(t + 40_000, t + 50_000, 0) for t in rounds]
    ranks = [rank(p, rows, window=window) for p, rows in enumerate((first, second, third))]
    return Ranks((replace(ranks[0], table="other"), *ranks[1:]))


@pytest.mark.parametrize(("window", "outcome"), [(50_000_000, "found"), (50_000_001, "clean")])
def test_crossed_communicators_are_told_from_1_percent_of_all_windows(window: int, outcome: str) -> None:
    ranks = crossed(30, window=window)
    checks = order.detect(ranks).checks
    assert checks[0].outcome == outcome
    assert checks[0].reason == ("" if outcome == "found" else "all ranks issue their collectives in one order")
    found = order.detect(ranks, everything=True).findings[0]
    assert (found.count, found.wait_ns) == (60, 1_500_000)
    assert found.share == round(1_500_000 / (3 * window), 6)
    assert {e.source for e in found.evidence} == {"other"}
    assert len(found.id) == len("F-") + 6
    assert (found.recoverable_ns.low, found.recoverable_ns.high) == (450_000, 1_500_000)


def test_nothing_crossed_is_clean_even_when_everything_is_asked_for() -> None:
    rows = [(100_000 * i + 50_000 * g, 100_000 * i + 50_000 * g + 20_000, g) for i in range(20) for g in (0, 1)]
    assert order.detect(Ranks((rank(0, rows), rank(1, rows))), everything=True).checks[0].outcome == "clean"


def test_three_pairs_of_communicators_are_named() -> None:
    first = [(100_000 * i + 20_000 * g, 100_000 * i + 20_000 * g + 10_000, g) for i in range(10) for g in range(4)]
    second = [
        (100_000 * i + 20_000 * (3 - g), 100_000 * i + 20_000 * (3 - g) + 9_000, g) for i in range(10) for g in range(4)
    ]
    found = order.detect(Ranks((rank(0, first), rank(1, second))), everything=True).findings[0]
    assert "communicators dp and ep, dp and pp, dp and tp in different orders" in found.title
