"""kernel.mem.bank_conflict: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.mem.bank_conflict"

CONFLICTS = {m.SHARED_CONFLICTS: 9e5, m.SHARED_WAVEFRONTS: 1e6, m.L1_DATA: 0.90, m.DRAM: 0.32}


def test_conflicts_on_a_full_data_pipe_are_worth_up_to_the_next_ceiling() -> None:
    found = cause(WAIT, counters(CONFLICTS, {"mio_throttle": 0.5}))
    assert found.bound.gain == pytest.approx(1 - 0.32 / 0.93)
    assert found.bound.ceiling == "dram"
    assert found.likely == pytest.approx(0.95 * (1 - 0.32 / 0.93 / 0.90))
    assert verdict(counters(CONFLICTS, {"mio_throttle": 0.5})).cause == WAIT


def test_the_same_conflicts_beside_a_full_dram_are_worth_nothing() -> None:
    kernel = counters({**CONFLICTS, m.L1_DATA: 0.3, m.DRAM: 0.9}, {"long_scoreboard": 0.9, "mio_throttle": 0.01})
    assert cause(WAIT, kernel).likely < 0.01
    assert "not what limits it" in cause(WAIT, kernel).message
    assert verdict(kernel).cause == "ok.memory_bound"


def test_few_conflicts_are_clean() -> None:
    assert clean(WAIT, counters({**CONFLICTS, m.SHARED_CONFLICTS: 5e4}))
