"""kernel.latency.dependency: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m

WAIT = "kernel.latency.dependency"


def test_fixed_latencies_with_idle_slots() -> None:
    found = cause(WAIT, counters({m.ISSUE_ACTIVE: 0.25}, {"wait": 0.6, "branch_resolving": 0.1}))
    assert found.likely == pytest.approx(0.7 * 0.75)
    assert found.level == "supported"


def test_busy_slots_are_the_normal_end_of_tuning() -> None:
    assert clean(WAIT, counters({m.ISSUE_ACTIVE: 0.8}, {"wait": 0.4}))


def test_a_busy_memory_unit_is_the_better_explanation() -> None:
    assert clean(WAIT, counters({m.ISSUE_ACTIVE: 0.25, m.L1_DATA: 0.7}, {"wait": 0.5}))
