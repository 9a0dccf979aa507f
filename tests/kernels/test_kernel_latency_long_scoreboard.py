"""kernel.latency.long_scoreboard: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m

WAIT = "kernel.latency.long_scoreboard"


def test_idle_slots_up_to_the_next_ceiling() -> None:
    found = cause(WAIT, counters({m.DRAM: 0.40}, {"long_scoreboard": 0.9}))
    assert found.likely == pytest.approx(1 - 0.40 / 0.93)
    assert found.bound.ceiling == "dram"


def test_the_share_of_warp_time_limits_the_gain() -> None:
    found = cause(WAIT, counters({m.ISSUE_ACTIVE: 0.5}, {"long_scoreboard": 0.4}))
    assert found.likely == pytest.approx(0.4 * 0.5)


def test_waiting_for_a_full_unit_is_how_the_limit_shows() -> None:
    assert clean(WAIT, counters({m.DRAM: 0.86}, {"long_scoreboard": 0.95}))


def test_a_fifth_of_the_time_is_clean() -> None:
    assert clean(WAIT, counters({}, {"long_scoreboard": 0.2, "wait": 0.2}))


def test_stalls_that_do_not_add_up_lower_the_evidence() -> None:
    off = counters({m.WARP_LATENCY: 30.0}, {"long_scoreboard": 0.9})
    assert cause(WAIT, off).level == "indicated"
    assert cause(WAIT, counters({m.WARP_LATENCY: 20.0}, {"long_scoreboard": 0.9})).level == "supported"
