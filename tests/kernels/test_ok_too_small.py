"""ok.too_small: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

from kernel_samples import clean, counters, m, verdict

WAIT = "ok.too_small"


def test_nine_microseconds_are_too_short_and_nothing_else_is_said() -> None:
    kernel = counters({m.DURATION_NS: 9_000, m.DRAM: 0.9, m.GRID_SIZE: 4})
    found = verdict(kernel)
    assert found.cause == WAIT
    assert [one.wait for one in found.ranked] == [WAIT]


def test_ten_microseconds_are_judged() -> None:
    assert clean(WAIT, counters({m.DURATION_NS: 10_000}))
