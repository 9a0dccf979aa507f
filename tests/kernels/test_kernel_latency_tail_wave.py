"""kernel.latency.tail_wave: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m

WAIT = "kernel.latency.tail_wave"


def kernel(blocks: float, average: float | None = None) -> object:
    """One block an SM, so that waves = blocks / 132."""
    return counters({m.GRID_SIZE: blocks, m.LIMIT_SHARED: 1, m.SM_ACTIVE_AVG: average, m.SM_ACTIVE_MAX: 1e6})


def test_twelve_blocks_of_a_second_wave_lose_nearly_half() -> None:
    found = cause(WAIT, kernel(144, 0.545e6))
    assert found.likely == pytest.approx(1 - (144 / 132) / 2)
    assert found.level == "supported"


def test_without_the_balance_of_the_sms_the_geometry_is_only_an_indication() -> None:
    bare = counters(
        {m.GRID_SIZE: 144, m.LIMIT_SHARED: 1, m.SM_ACTIVE_AVG: None, m.SM_ACTIVE_MAX: None, m.SM_ELAPSED: None}
    )
    assert cause(WAIT, bare).level == "indicated"


def test_full_waves_lose_nothing() -> None:
    assert clean(WAIT, kernel(264, 1e6))


def test_a_nearly_full_last_wave_is_not_half_a_loss() -> None:
    assert clean(WAIT, kernel(132 * 2 - 10, 0.96e6))


def test_even_sms_contradict_the_geometry() -> None:
    assert clean(WAIT, kernel(144, 0.99e6))


def test_less_than_one_wave_has_no_tail() -> None:
    assert clean(WAIT, kernel(132, 0.9e6))
