"""ok.compute_bound: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

from kernel_samples import cause, clean, counters, m, verdict

WAIT = "ok.compute_bound"


def test_busy_tensor_cores_are_fine_whatever_else_is_busy() -> None:
    kernel = counters({m.TENSOR: 0.79, m.L2_OUT: 0.78}, {"barrier": 0.35})
    assert verdict(kernel).cause == WAIT
    assert cause(WAIT, kernel).bound.ceiling == "pipe.tensor"


def test_busy_issue_slots_are_fine_below_the_full_pipe() -> None:
    assert verdict(counters({m.ISSUE_SLOTS: 0.75, m.ISSUE_ACTIVE: 0.77}, {"not_selected": 0.3})).cause == WAIT


def test_half_used_slots_are_not() -> None:
    assert clean(WAIT, counters({m.ISSUE_SLOTS: 0.5}))
