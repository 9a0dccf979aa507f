"""pipe.copy_wait: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "pipe.copy_wait"

STAGING = {m.SHARED_STORES: 1e6, m.GLOBAL_LOADS: 1e6, m.GRID_SIZE: 132, m.ISSUE_ACTIVE: 0.3}
WAITING = {"long_scoreboard": 0.3, "barrier": 0.1, "wait": 0.3}


def test_loads_through_registers_take_turns_with_the_work() -> None:
    found = cause(WAIT, counters(STAGING, WAITING))
    assert found.likely == pytest.approx(0.4 * 0.7)
    assert verdict(counters(STAGING, WAITING)).cause == WAIT


def test_asynchronous_copies_are_a_pipeline() -> None:
    assert clean(WAIT, counters({**STAGING, m.ASYNC_COPIES: 1e5}, WAITING))


def test_a_full_dram_cannot_be_pipelined_away() -> None:
    assert clean(WAIT, counters({**STAGING, m.DRAM: 0.85}, WAITING))


def test_one_tile_a_block_is_no_loop() -> None:
    assert clean(WAIT, counters({**STAGING, m.GRID_SIZE: 132 * 64}, WAITING))


def test_a_reduction_tree_in_shared_memory_is_no_staging() -> None:
    assert clean(WAIT, counters({**STAGING, m.SHARED_STORES: 3e6}, WAITING))


def test_hidden_latency_is_clean() -> None:
    assert clean(WAIT, counters(STAGING, {"long_scoreboard": 0.05, "not_selected": 0.5}))
