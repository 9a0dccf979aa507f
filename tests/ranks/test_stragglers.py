from __future__ import annotations

import numpy as np
import pytest

from stallscope.waits.ranks.stragglers import lateness


def durations(arrival: np.ndarray, transfer: float = 300.0) -> np.ndarray:
    """Time in the collective from times of arrival."""
    return arrival.max(axis=1, keepdims=True) + transfer - arrival


def test_the_late_rank_is_the_one_that_spends_least() -> None:
    arrival = np.zeros((20, 4))
    arrival[:, 2] = 50.0
    found = lateness(durations(arrival))
    assert found.blamed.tolist() == [2]
    assert found.persistent.tolist() == [2]
    assert np.allclose(found.excess_ns[:, 2], 50.0)


def test_noise_alone_names_nobody() -> None:
    random = np.random.default_rng(3)
    named = 0
    for _ in range(300):
        draw = random.normal if random.random() < 0.5 else lambda _m, s, shape: random.exponential(s, shape)
        named += bool(
            len(lateness(durations(draw(0, 100.0, (int(random.integers(10, 60)), int(random.integers(2, 17)))))).blamed)
        )
    assert named <= 3


@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_a_shift_of_two_sigma_is_found(ranks: int) -> None:
    random = np.random.default_rng(4)
    right = 0
    for _ in range(200):
        arrival = random.normal(0, 100.0, (30, ranks))
        arrival[:, 1] += 200.0
        right += lateness(durations(arrival)).blamed.tolist() == [1]
    assert right >= 198


def test_single_pauses_are_found_and_only_they_are_blamed() -> None:
    arrival = np.random.default_rng(5).normal(0, 100.0, (100, 8))
    arrival[[10, 40], 3] += 50_000.0
    found = lateness(durations(arrival))
    assert found.blamed.tolist() == [3]
    assert np.flatnonzero(found.pauses.any(axis=1)).tolist() == [10, 40]
    assert not len(found.persistent)
    assert found.noise_ns == pytest.approx(100.0, rel=0.2)


def test_a_pause_in_every_tenth_bucket_is_not_averaged_away() -> None:
    arrival = np.random.default_rng(6).normal(0, 5.0, (200, 8))
    arrival[::10, 6] += 10_000.0
    assert lateness(durations(arrival)).blamed.tolist() == [6]


def test_slow_drifts_of_all_ranks_are_no_straggler() -> None:
    random = np.random.default_rng(7)
    named = 0
    for _ in range(100):
        wander = random.normal(0, 30.0, (60, 8)).cumsum(axis=0) * 0.9
        wander -= wander.mean(axis=0)
        named += bool(len(lateness(durations(wander + random.normal(0, 30.0, (60, 8)))).persistent))
    assert named <= 1


def test_absent_ranks_do_not_count() -> None:
    arrival = np.random.default_rng(8).normal(0, 100.0, (40, 4))
    arrival[:, 0] += 500.0
    taken = durations(arrival)
    taken[:, 3] = np.nan
    taken[:5, 1] = np.nan
    assert lateness(taken).blamed.tolist() == [0]


def test_too_few_collectives_decide_nothing() -> None:
    arrival = np.zeros((3, 4))
    arrival[:, 2] = 50.0
    assert not len(lateness(durations(arrival)).blamed)
    assert not len(lateness(np.empty((0, 3))).blamed)


@pytest.mark.parametrize(("collectives", "blamed"), [(5, [1]), (4, [])])
def test_five_collectives_are_needed_to_name_a_rank(collectives: int, blamed: list[int]) -> None:
    arrival = np.zeros((collectives, 3))
    arrival[:, 1] = 50.0
    assert lateness(durations(arrival)).blamed.tolist() == blamed


def test_lateness_is_against_the_mean_of_the_others_that_took_part() -> None:
    taken = np.array([[300.0, 100.0, 200.0], [300.0, 100.0, np.nan], [300.0, np.nan, np.nan]])
    expected = [[-150.0, 150.0, 0.0], [-200.0, 200.0, np.nan], [np.nan] * 3]
    np.testing.assert_array_equal(lateness(taken).late_ns, expected)


def test_noise_is_the_robust_sigma_of_one_arrival() -> None:
    """Two ranks that are ±30 apart by turns: sigma of the difference 1.4826 · 30, of one arrival √2 less."""
    taken = np.array([[300.0, 300.0 + (30.0 if i % 2 else -30.0)] for i in range(20)])
    assert lateness(taken).noise_ns == pytest.approx(1.4826 * 30 / 2**0.5)


def test_the_most_harmful_is_named_first_and_pauses_below_their_worth_are_not() -> None:
    arrival = np.zeros((20, 4))
    arrival[:, 1], arrival[:, 3] = 50.0, 80.0
    assert lateness(durations(arrival)).blamed.tolist() == [3, 1]
    once = np.zeros((20, 4))
    once[7, 2] = 1_000.0
    assert lateness(durations(once), worth_ns=1_000.0).blamed.tolist() == [2]
    assert lateness(durations(once), worth_ns=1_001.0).blamed.tolist() == []


def test_without_collectives_there_is_no_noise_and_nobody_to_blame() -> None:
    found = lateness(np.empty((0, 3)))
    assert (found.noise_ns, found.blamed.tolist()) == (0.0, [])
    assert lateness(np.full((3, 2), np.nan)).noise_ns == 0.0
