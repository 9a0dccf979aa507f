"""kernel.latency.small_grid: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.latency.small_grid"


def test_four_blocks_on_132_sms_leave_128_idle() -> None:
    found = cause(WAIT, counters({m.GRID_SIZE: 4}))
    assert found.likely == pytest.approx(128 / 132)
    assert found.bound.gain >= found.likely
    assert found.message == "4 blocks on 132 SMs: 128 SMs have nothing to do"


def test_one_block_an_sm_is_no_small_grid() -> None:
    assert clean(WAIT, counters({m.GRID_SIZE: 132}))


def test_it_comes_before_the_latency_it_causes() -> None:
    kernel = counters({m.GRID_SIZE: 4, m.ISSUE_ACTIVE: 0.02}, {"long_scoreboard": 0.95})
    assert verdict(kernel).cause == WAIT
