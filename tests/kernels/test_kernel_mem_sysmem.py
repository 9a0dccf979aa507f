"""kernel.mem.sysmem: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.mem.sysmem"

HOST = {m.SYSMEM_SECTORS: 4e6, m.L2_FROM_L1: 8e6, m.DURATION_NS: 2.5e6, m.ISSUE_ACTIVE: 0.01}


def test_reads_over_the_link_come_before_the_latency_they_are() -> None:
    kernel = counters(HOST, {"long_scoreboard": 0.98})
    found = cause(WAIT, kernel)
    assert found.likely == pytest.approx(1 - 0.10 / 0.93)
    assert "51.2 GB/s" in found.message
    assert verdict(kernel).cause == WAIT


def test_a_polled_flag_is_not_the_kernel_s_data() -> None:
    assert clean(WAIT, counters({**HOST, m.SYSMEM_SECTORS: 200}, {"long_scoreboard": 0.98}))


def test_without_stalls_nothing_is_claimed() -> None:
    assert clean(WAIT, counters(HOST))
