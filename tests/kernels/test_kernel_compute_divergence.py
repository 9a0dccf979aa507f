"""kernel.compute.divergence: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m

WAIT = "kernel.compute.divergence"


def test_eight_of_32_threads_on_full_issue_slots() -> None:
    found = cause(WAIT, counters({m.THREADS: 8, m.ISSUE_SLOTS: 0.92, m.ISSUE_ACTIVE: 0.95}))
    assert found.bound.gain == pytest.approx(1 - 0.92 / 4)
    assert found.likely == pytest.approx(0.95 * (1 - 0.92 / 4))


def test_divergence_beside_waiting_for_memory_is_worth_little() -> None:
    found = cause(WAIT, counters({m.THREADS: 16}, {"long_scoreboard": 0.95}))
    assert found.likely == pytest.approx(0.95 * 0.5 * 0.05)


def test_full_warps_are_clean() -> None:
    assert clean(WAIT, counters({m.THREADS: 30}))
