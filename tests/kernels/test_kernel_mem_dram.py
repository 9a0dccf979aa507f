"""kernel.mem.dram: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.mem.dram"


def test_below_the_roof_the_headroom_is_the_gain() -> None:
    found = cause(WAIT, counters({m.DRAM: 0.65}, {"long_scoreboard": 0.9}))
    assert found.likely == pytest.approx(1 - 0.65 / 0.93)
    assert found.level == "supported"


def test_at_the_roof_only_fewer_bytes_help_and_nothing_is_promised() -> None:
    kernel = counters({m.DRAM: 0.86}, {"long_scoreboard": 0.9})
    found = cause(WAIT, kernel)
    assert found.likely == 0
    assert found.bound.gain == pytest.approx(0.9)
    assert verdict(kernel).cause == "ok.memory_bound"


def test_bytes_that_were_fetched_again_are_waste() -> None:
    twice = {m.DRAM: 0.88, m.L2_FROM_L1: 4e6, m.DRAM_READ: 256e6, m.DRAM_WRITTEN: 0}
    found = cause(WAIT, counters(twice))
    assert found.bound.gain == pytest.approx(1 - 0.88 / 0.93 / 2)
    assert verdict(counters(twice)).cause == WAIT


def test_a_busier_unit_is_the_limit() -> None:
    assert clean(WAIT, counters({m.DRAM: 0.65, m.L1_DATA: 0.9}))
