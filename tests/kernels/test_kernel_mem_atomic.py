"""kernel.mem.atomic: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.mem.atomic"

HOT = {m.L2_REDUCTIONS: 4e6, m.L2_FROM_L1: 8e6, m.L2_ACTIVE_AVG: 2e5, m.L2_ACTIVE_MAX: 1e6, m.ISSUE_ACTIVE: 0.01}
WAITING = {"drain": 0.4, "lg_throttle": 0.4}


def test_updates_of_one_address_leave_one_slice_busy() -> None:
    found = cause(WAIT, counters(HOT, WAITING))
    assert found.likely == pytest.approx(0.8 * 0.99)
    assert "5.0 times the average" in found.message
    assert verdict(counters(HOT, WAITING)).cause == WAIT


def test_atomics_spread_over_all_slices_are_clean() -> None:
    assert clean(WAIT, counters({**HOT, m.L2_ACTIVE_AVG: 0.95e6}, WAITING))


def test_one_atomic_a_block_is_clean() -> None:
    assert clean(WAIT, counters({**HOT, m.L2_REDUCTIONS: 1056}, WAITING))
