"""kernel.latency.occupancy: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.latency.occupancy"

CROWDED = {m.THEORETICAL_OCCUPANCY: 0.125, m.ACHIEVED_OCCUPANCY: 0.12, m.LIMIT_SHARED: 2, m.ISSUE_ACTIVE: 0.04}
WAITING = {"long_scoreboard": 0.9}


def test_shared_memory_that_keeps_warps_out() -> None:
    found = cause(WAIT, counters(CROWDED, WAITING))
    assert "shared memory limits it to 12%" in found.message
    assert found.likely == pytest.approx((1 - 0.125) * 0.9)
    assert verdict(counters(CROWDED, WAITING)).cause == WAIT


def test_the_next_ceiling_limits_what_more_warps_bring() -> None:
    found = cause(WAIT, counters({**CROWDED, m.L2_TAGS: 0.75}, WAITING))
    assert found.likely == pytest.approx(0.25 * 0.9)


def test_a_tensor_kernel_runs_one_block_an_sm_by_design() -> None:
    assert clean(WAIT, counters({**CROWDED, m.TENSOR: 0.7}, WAITING))


def test_low_occupancy_without_memory_latency_is_no_fault() -> None:
    assert clean(WAIT, counters(CROWDED, {"wait": 0.6, "long_scoreboard": 0.1}))


def test_a_short_grid_not_the_limit_keeps_the_warps_out() -> None:
    assert clean(WAIT, counters({**CROWDED, m.GRID_SIZE: 140}, WAITING))


def test_occupancy_that_is_possible_but_not_reached_is_another_matter() -> None:
    assert clean(WAIT, counters({**CROWDED, m.THEORETICAL_OCCUPANCY: 0.5, m.ACHIEVED_OCCUPANCY: 0.2}, WAITING))
