"""kernel.mem.spill: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.mem.spill"

SPILLING = {
    m.SPILLS: 2e6,
    m.LOCAL_ACCESSES: 2e6,
    m.LOCAL_SECTORS: 8e6,
    m.LOCAL_STORE_SECTORS: 4e6,
    m.LOCAL_LOAD_MISSES: 4e6,
    m.L2_FROM_L1: 10e6,
    m.L2_WRITES: 5e6,
    m.L2_READS: 5e6,
    m.L2_IN: 0.90,
    m.L2_TAGS: 0.50,
    m.GLOBAL_SECTORS: 2e6,
}


def test_spills_that_fill_l2_are_worth_their_part_of_it() -> None:
    found = cause(WAIT, counters(SPILLING, {"lg_throttle": 0.6}))
    # l2.in falls from 0.90 to 0.18, dram and the untouched fma pipe stay at 0.10: l2.in remains the ceiling
    assert found.bound.gain == pytest.approx(1 - 0.90 * 0.2)
    assert found.bound.ceiling == "l2.in"
    assert found.likely == pytest.approx(0.95 * (1 - 0.18 / 0.90))
    assert found.level == "supported"


def test_a_few_spills_outside_the_loop_are_not_told() -> None:
    assert clean(WAIT, counters({**SPILLING, m.SPILLS: 4e4}))


def test_a_local_array_is_no_spill() -> None:
    kernel = counters({**SPILLING, m.SPILLS: 0}, {"lg_throttle": 0.6})
    assert clean(WAIT, kernel)
    assert verdict(kernel).cause == "kernel.mem.local_array"


def test_without_spill_counters_full_registers_are_an_indication() -> None:
    old = {**SPILLING, m.SPILLS: None}
    assert cause(WAIT, counters({**old, m.REGISTERS: 255}, {"lg_throttle": 0.6})).level == "indicated"
    assert clean(WAIT, counters({**old, m.REGISTERS: 40}, {"lg_throttle": 0.6}))


def test_spills_that_l1_absorbs_are_true_and_worth_little() -> None:
    hidden = {**SPILLING, m.INSTRUCTIONS: 2e8, m.L2_IN: 0.10, m.L2_TAGS: 0.10, m.ISSUE_ACTIVE: 0.9, m.ISSUE_SLOTS: 0.9}
    found = cause(WAIT, counters(hidden, {"lg_throttle": 0.05}))
    assert found.likely < 0.01
