"""What travels from a rank to the comparison, and how ranks are listed."""

from __future__ import annotations

import numpy as np
import pytest
from rank_rows import rank

from stallscope.timeline.intervals import IntervalSet
from stallscope.waits.ranks.base import UNNUMBERED, Ranks, _before, listed


def charged(*spans: tuple[int, int]) -> IntervalSet:
    starts, ends = (np.array([span[i] for span in spans], np.int64) for i in (0, 1))
    return IntervalSet(starts, ends)


def test_before_a_collective_lies_what_was_charged_since_the_last_end_of_an_earlier_one() -> None:
    """The second collective ends after the third: the fourth's stretch begins there."""
    ops = rank(0, [(100, 120, 0), (150, 300, 0), (200, 220, 0), (400, 420, 0)]).log.ops
    account = {"input.wait": charged((50, 110), (130, 140), (250, 350)), "host.busy": charged((80, 90), (500, 600))}
    found = {wait: values.tolist() for wait, values in _before(ops, account).items()}
    assert found == {"input.wait": [50, 10, 0, 50], "host.busy": [10, 0, 0, 0]}


def test_without_charges_or_collectives_nothing_lies_before() -> None:
    ops = rank(0, [(100, 120, 0)]).log.ops
    assert _before(ops, {}) == {}
    assert _before(ops, {"input.wait": charged()}) == {}
    assert _before(ops.take(np.empty(0, np.int64)), {"input.wait": charged((0, 9))}) == {}
    assert _before(ops, {"input.wait": charged((100, 200))}) == {}


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["rank 3", "rank 5", "rank 7"], "ranks 3, 5 and 7"),
        ([f"rank {r}" for r in range(4)], "ranks 0, 1, 2 and 3"),
        ([f"rank {r}" for r in range(5)], "ranks 0, 1, 2, 3 and 1 other"),
        (["rank 3", "rank 0 GPU 1"], "rank 3 and rank 0 GPU 1"),
    ],
)
def test_numbers_are_listed_short_where_all_are_plain(labels: list[str], text: str) -> None:
    assert listed(labels) == text


def test_devices_and_windows_are_those_of_all_ranks() -> None:
    ranks = Ranks((rank(0, [(0, 5, 0)], window=7), rank(1, [(0, 5, 0)], window=4)))
    assert (ranks.devices, ranks.window_ns) == (("GPU 0", "GPU 0"), 11)
    assert UNNUMBERED < 0  # no rank's number
