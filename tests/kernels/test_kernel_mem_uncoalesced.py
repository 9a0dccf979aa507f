"""kernel.mem.uncoalesced: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m

WAIT = "kernel.mem.uncoalesced"

STRIDED = {
    m.THEORETICAL_SECTORS: 32e6,
    m.IDEAL_SECTORS: 4e6,
    m.L2_FROM_L1: 32e6,
    m.L2_IN: 0.80,
    m.DRAM_READ: 64e6,
    m.DRAM_WRITTEN: 64e6,
}


def test_seven_of_eight_sectors_unused_where_l2_binds() -> None:
    found = cause(WAIT, counters(STRIDED))
    # l2.in falls to 0.1, the level of everything else; dram (0.10 / 0.93) is what remains
    assert found.bound.gain == pytest.approx(1 - 0.10 / 0.93)
    assert found.likely == pytest.approx(0.95 * (1 - 0.10 / 0.93 / 0.80))


def test_dram_is_relieved_only_of_bytes_beyond_the_ideal_ones() -> None:
    merged = {**STRIDED, m.L2_IN: 0.10, m.DRAM: 0.90, m.IDEAL_SECTORS: 4e6}
    assert cause(WAIT, counters(merged)).likely == pytest.approx(0.0, abs=0.01)
    refetched = {**merged, m.DRAM_READ: 512e6, m.DRAM_WRITTEN: 512e6}
    assert cause(WAIT, counters(refetched)).likely > 0.8


def test_the_excess_that_l1_merged_is_not_excess_in_l2() -> None:
    merged = {**STRIDED, m.L2_FROM_L1: 4e6, m.L2_IN: 0.80}
    assert cause(WAIT, counters(merged)).likely == 0.0


def test_coalesced_is_clean() -> None:
    assert clean(WAIT, counters({m.THEORETICAL_SECTORS: 8.4e6, m.IDEAL_SECTORS: 8e6}))
