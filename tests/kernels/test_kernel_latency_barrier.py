"""kernel.latency.barrier: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.latency.barrier"


def test_a_plain_barrier_is_worth_its_share_of_idle_slots() -> None:
    found = cause(WAIT, counters({m.ISSUE_ACTIVE: 0.4}, {"barrier": 0.5}))
    assert found.likely == pytest.approx(0.5 * 0.6)


def test_the_exchange_through_shared_memory_goes_with_its_barriers() -> None:
    tree = {m.ISSUE_ACTIVE: 0.4, m.SHARED_STORES: 3e6, m.L1_DATA: 0.7, m.L1_REQUESTS: 0.7}
    found = cause(WAIT, counters(tree, {"barrier": 0.3, "short_scoreboard": 0.2}))
    assert found.likely == pytest.approx((0.3 + 0.2) * 0.6)
    assert found.bound.gain == pytest.approx(1 - 0.1 / 0.93)


def test_a_barrier_under_a_full_dram_is_worth_little() -> None:
    kernel = counters({m.DRAM: 0.9}, {"barrier": 0.2, "long_scoreboard": 0.7})
    assert verdict(kernel).cause == "ok.memory_bound"


def test_a_tenth_of_the_time_is_clean() -> None:
    assert clean(WAIT, counters({}, {"barrier": 0.1}))
