from __future__ import annotations

import numpy as np
import pytest

from stallscope.experiments.bootstrap import Sampling, block_length, mean_difference, worth_pairing


def test_identical_repeats_differ_by_exactly_nothing_when_paired() -> None:
    values = np.array([1.0, 5.0, 2.0, 8.0, 3.0])
    found = mean_difference(values, values, 0.99, Sampling(paired=True))
    assert found is not None
    assert (found.point, found.low, found.high) == (0.0, 0.0, 0.0)


def test_single_repeat_has_no_interval() -> None:
    assert mean_difference(np.array([1.0]), np.array([2.0, 2.1]), 0.99, Sampling()) is None


def test_two_repeats_that_agree_by_chance_keep_a_wide_interval() -> None:
    found = mean_difference(np.array([100.0, 100.0]), np.array([104.0, 104.0]), 0.99, Sampling())
    assert found is not None
    assert found.low < 0 < found.high


def test_pairing_removes_what_varies_on_both_sides_alike() -> None:
    rng = np.random.default_rng(1)
    base = rng.normal(100, 20, 40)
    head = base + 1 + rng.normal(0, 0.1, 40)
    assert worth_pairing(base, head)
    paired = mean_difference(base, head, 0.99, Sampling(paired=True))
    unpaired = mean_difference(base, head, 0.99, Sampling())
    assert paired is not None
    assert unpaired is not None
    assert paired.low > 0.9
    assert unpaired.low < 0 < unpaired.high


def test_unrelated_repeats_are_not_paired() -> None:
    rng = np.random.default_rng(2)
    assert not worth_pairing(rng.normal(100, 1, 30), rng.normal(100, 1, 30))
    assert not worth_pairing(rng.normal(100, 1, 30), rng.normal(100, 1, 29))


def test_slow_drift_widens_the_interval() -> None:
    """Steps that drift are not independent: their mean is known less well than their number suggests."""
    rng = np.random.default_rng(3)
    white = rng.normal(0, 1, 200)
    drifting = np.zeros(200)
    for step in range(1, 200):
        drifting[step] = 0.9 * drifting[step - 1] + white[step]
    drifting *= white.std() / drifting.std()
    blocks = Sampling(block_length(200))
    wide = mean_difference(drifting, white, 0.95, blocks)
    narrow = mean_difference(white, white[::-1].copy(), 0.95, blocks)
    assert wide is not None
    assert narrow is not None
    assert wide.standard_error > 2 * narrow.standard_error


@pytest.mark.parametrize("count", [3, 6, 40])
def test_interval_covers_the_truth_as_often_as_it_says(count: int) -> None:
    """Skewed repeats, as step times are: 95 % intervals miss at most 8 % of 300 times."""
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(300):
        base, head = rng.lognormal(0, 0.3, count), rng.lognormal(0, 0.3, count)
        found = mean_difference(base, head, 0.95, Sampling())
        assert found is not None
        missed += not found.low <= 0 <= found.high
    assert missed <= 24
