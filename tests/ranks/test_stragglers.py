from __future__ import annotations

import numpy as np
import pytest

from stallscope.waits.ranks.stragglers import _effective, _last, _persistent, lateness


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


def column(*parts: tuple[float, int]) -> np.ndarray:
    """One participant's lateness: each value so many times."""
    return np.concatenate([np.full(count, value) for value, count in parts])[:, None]


def beside(own: np.ndarray, width: int) -> np.ndarray:
    """The same beside participants that were never there."""
    return np.concatenate((own, np.full((len(own), width - 1), np.nan)), axis=1)


@pytest.mark.parametrize(("mean", "noise", "certain"), [(30.0, 30.0, False), (30.5, 30.0, True), (1.0, 0.0, True)])
def test_a_straggler_is_late_by_more_than_the_noise_of_one_arrival(mean: float, noise: float, *, certain: bool) -> None:
    means, found = _persistent(column((mean, 10)), noise)
    assert (means.tolist(), found.tolist()) == ([mean], [certain])


@pytest.mark.parametrize(
    ("mean", "width", "certain"),
    [(102.0, 2, False), (104.0, 2, True), (104.0, 8, False), (115.0, 8, False), (117.0, 8, True)],
)
def test_chance_is_excluded_over_all_ranks(mean: float, width: int, *, certain: bool) -> None:
    """Ten arrivals mean ± 100: the mean is off by 100 / √9. 1 in 500 is 3.09 sigma for each of two, 3.48 of eight."""
    own = beside(np.tile([mean - 100, mean + 100], 5)[:, None], width)
    assert _persistent(own, 50.0)[1].tolist() == [certain] + [False] * (width - 1)


def test_an_outlier_counts_up_to_five_times_the_noise() -> None:
    means, certain = _persistent(column((50.0, 9), (1_000.0, 1)), 10.0)
    assert (means.tolist(), certain.tolist()) == ([55.0], [True])


@pytest.mark.parametrize(
    ("values", "size"),
    [
        ([0.0, 0.0, 1.0, 1.0] * 5, 20 * 0.95 / 1.05),
        ([-1.0, 1.0] * 5, 10.0),
        ([float(i) for i in range(10)], 2.0),  # all follow from the one before
        ([3.0] * 7, 7.0),
    ],
)
def test_arrivals_that_follow_each_other_count_for_fewer(values: list[float], size: float) -> None:
    assert _effective(np.array(values)) == pytest.approx(size)


def test_noise_counts_the_mean_of_the_others_in() -> None:
    """Rank 3 is ±30 off by turns, which moves the others' lateness by ∓10: the median is 10, in units of 1 + 1/3."""
    taken = np.array([[300.0, 300.0, 300.0, 330.0 if i % 2 else 270.0] for i in range(20)])
    assert lateness(taken).noise_ns == pytest.approx(1.4826 * 10 / (4 / 3) ** 0.5)


@pytest.mark.parametrize(("pause", "found"), [(260.0, True), (250.0, False)])
def test_a_pause_is_eight_times_the_noise(pause: float, *, found: bool) -> None:
    """Noise 1.4826 · 30 / √2 = 31.4 ns."""
    taken = np.array([[1_000.0, 1_000.0 + (30.0 if i % 2 else -30.0)] for i in range(20)])
    taken[4, 1] = 1_000.0 - pause
    assert lateness(taken).pauses.any() == found
    assert lateness(taken).blamed.tolist() == ([1] if found else [])


@pytest.mark.parametrize(("pause", "found"), [(750.0, [5]), (690.0, [])])
def test_a_pause_is_seven_times_what_the_last_to_arrive_is_usually_late_by(pause: float, found: list[int]) -> None:
    arrival = np.zeros((32, 16))
    arrival[np.arange(32), np.arange(32) % 16] = 100.0
    arrival[7] = 0.0
    arrival[7, 5] = pause
    assert lateness(durations(arrival)).blamed.tolist() == found


def test_the_pause_of_a_persistent_straggler_is_what_it_is_late_by_beyond_that() -> None:
    arrival = np.zeros((20, 4))
    arrival[:, 2] = 50.0
    arrival[7, 2] = 1_000.0
    found = lateness(durations(arrival))
    assert found.excess_ns[:, 2].tolist() == [50.0] * 7 + [1_000.0] + [50.0] * 12
    assert np.argwhere(found.pauses).tolist() == [[7, 2]]
    assert lateness(durations(arrival), worth_ns=951.0).excess_ns[7, 2] == 50.0


@pytest.mark.parametrize(("collectives", "blamed"), [(5, [1]), (4, [])])
def test_five_collectives_are_needed_to_call_one_a_pause(collectives: int, blamed: list[int]) -> None:
    arrival = np.zeros((collectives, 3))
    arrival[2, 1] = 1.0
    assert lateness(durations(arrival)).blamed.tolist() == blamed


def test_ranks_that_always_arrive_together_pause_nowhere() -> None:
    assert not lateness(durations(np.zeros((20, 3)))).pauses.any()


def test_a_rank_that_is_not_there_comes_last_nowhere() -> None:
    assert _last(np.array([[300.0, 100.0, np.nan], [np.nan] * 3])).tolist() == [[False, True, False], [False] * 3]
