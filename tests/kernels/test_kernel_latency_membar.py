"""kernel.latency.membar: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.latency.membar"


def test_fences_come_before_the_loads_behind_them() -> None:
    kernel = counters({m.ISSUE_ACTIVE: 0.1}, {"membar": 0.45, "long_scoreboard": 0.5})
    assert cause(WAIT, kernel).likely == pytest.approx(0.45 * 0.9)
    assert verdict(kernel).cause == WAIT


def test_counted_fences_support_the_share() -> None:
    assert cause(WAIT, counters({}, {"membar": 0.3})).level == "indicated"
    assert cause(WAIT, counters({m.MEMBAR_REQUESTS: 5e5}, {"membar": 0.3})).level == "supported"


def test_one_fence_at_the_end_is_clean() -> None:
    assert clean(WAIT, counters({m.MEMBAR_REQUESTS: 100}, {"membar": 0.02}))
