"""kernel.mem.l1: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.mem.l1"

FULL = {m.L1_DATA: 0.90, m.ISSUE_SLOTS: 0.30, m.GLOBAL_LOADS: 5e6}


def test_reuse_frees_the_loads_and_their_instructions() -> None:
    found = cause(WAIT, counters(FULL, {"long_scoreboard": 0.5}))
    # half of the instructions are loads: issue slots fall from 0.30 to 0.15
    assert found.bound.gain == pytest.approx(0.85)
    assert found.bound.ceiling == "issue"
    assert found.likely == pytest.approx(0.8 * 0.85)
    assert verdict(counters(FULL, {"long_scoreboard": 0.5})).cause == WAIT


def test_two_thirds_of_the_peak_is_not_the_limit() -> None:
    assert clean(WAIT, counters({**FULL, m.L1_DATA: 0.66}))


def test_a_fuller_dram_is_the_limit() -> None:
    assert clean(WAIT, counters({**FULL, m.L1_DATA: 0.76, m.DRAM: 0.92}))
