"""ok.memory_bound: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "ok.memory_bound"


def test_the_roof_is_fine() -> None:
    kernel = counters({m.DRAM: 0.86}, {"long_scoreboard": 0.95})
    assert verdict(kernel).cause == WAIT
    assert cause(WAIT, kernel).bound.gain == pytest.approx(1 - 0.86 / 0.93)


def test_three_quarters_of_the_bandwidth_is_not_the_roof() -> None:
    assert clean(WAIT, counters({m.DRAM: 0.74}))


def test_a_high_throughput_of_l2_alone_is_not_the_roof() -> None:
    assert clean(WAIT, counters({m.DRAM: 0.60, m.L2_ALL: 0.95}))
