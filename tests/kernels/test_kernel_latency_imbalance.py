"""kernel.latency.imbalance: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.latency.imbalance"


def test_an_average_sm_at_half_of_the_longest_costs_half() -> None:
    found = cause(WAIT, counters({m.SM_ACTIVE_AVG: 0.5e6, m.SM_ACTIVE_MAX: 1e6}))
    assert found.likely == pytest.approx(0.5)


def test_five_percent_are_normal() -> None:
    assert clean(WAIT, counters({m.SM_ACTIVE_AVG: 0.95e6, m.SM_ACTIVE_MAX: 1e6}))


def test_an_unfilled_last_wave_is_not_imbalance() -> None:
    kernel = counters({m.GRID_SIZE: 144, m.LIMIT_SHARED: 1, m.SM_ACTIVE_AVG: 0.545e6, m.SM_ACTIVE_MAX: 1e6})
    assert clean(WAIT, kernel)
    assert verdict(kernel).cause == "kernel.latency.tail_wave"


def test_a_grid_smaller_than_the_device_is_not_imbalance() -> None:
    assert clean(WAIT, counters({m.GRID_SIZE: 44, m.SM_ACTIVE_AVG: 0.33e6, m.SM_ACTIVE_MAX: 1e6}))
