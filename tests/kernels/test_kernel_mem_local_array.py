"""kernel.mem.local_array: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, result

WAIT = "kernel.mem.local_array"

ARRAY = {
    m.SPILLS: 0,
    m.LOCAL_ACCESSES: 2e6,
    m.LOCAL_SECTORS: 8e6,
    m.LOCAL_STORE_SECTORS: 4e6,
    m.LOCAL_LOAD_MISSES: 4e6,
    m.L2_FROM_L1: 10e6,
    m.L2_WRITES: 5e6,
    m.L2_READS: 5e6,
    m.L2_IN: 0.90,
}


def test_local_traffic_without_spills_is_an_array() -> None:
    found = cause(WAIT, counters(ARRAY, {"lg_throttle": 0.6}))
    assert found.likely == pytest.approx(0.95 * (1 - 0.2))


def test_spilled_registers_are_no_array() -> None:
    assert clean(WAIT, counters({**ARRAY, m.SPILLS: 2e6}))


def test_without_spill_counters_it_abstains_and_says_what_to_collect() -> None:
    answer = result(WAIT, counters({**ARRAY, m.SPILLS: None}))
    assert answer.outcome == "not_applicable"
    assert [quantity.collect for quantity in answer.missing] == ["--section MemoryWorkloadAnalysis"]
