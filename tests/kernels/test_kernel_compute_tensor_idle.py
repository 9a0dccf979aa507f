"""kernel.compute.tensor_idle: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.compute.tensor_idle"


def test_a_matrix_product_on_the_fma_pipe() -> None:
    found = cause(WAIT, counters({m.FMA: 0.6, m.ISSUE_SLOTS: 0.7}, name="sgemm_64x64(float *)"))
    assert found.bound.gain == pytest.approx(1 - 0.10 / 0.93)
    assert found.likely == pytest.approx(0.6 * found.bound.gain)


def test_the_same_counters_under_another_name_are_no_matrix_product() -> None:
    assert clean(WAIT, counters({m.FMA: 0.6, m.ISSUE_SLOTS: 0.7}, name="n_body(float4 *)"))


def test_starved_tensor_cores() -> None:
    found = cause(WAIT, counters({m.TENSOR: 0.15}, {"long_scoreboard": 0.6, "barrier": 0.2}))
    assert found.likely == pytest.approx((1 - 0.15 / 0.60) * 0.8)
    assert found.level == "indicated"


def test_busy_tensor_cores_are_fine() -> None:
    kernel = counters({m.TENSOR: 0.79, m.L2_OUT: 0.77}, {"barrier": 0.5}, name="mm")
    assert clean(WAIT, kernel)
    assert verdict(kernel).cause == "ok.compute_bound"
