"""kernel.compute.pipe_bound: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.compute.pipe_bound"


def test_double_precision_gives_way_to_the_issue_slots() -> None:
    found = cause(WAIT, counters({m.FP64: 0.94, m.ISSUE_SLOTS: 0.55}))
    assert found.bound.gain == pytest.approx(0.45)
    assert found.likely == pytest.approx(0.45)
    assert found.level == "supported"


def test_a_full_alu_is_an_indication() -> None:
    found = cause(WAIT, counters({m.ALU: 0.9, m.ISSUE_SLOTS: 0.8}))
    assert found.level == "indicated"
    assert found.likely == pytest.approx(0.65 * (1 - 0.1 / 0.93))


def test_a_full_tensor_pipe_is_what_the_kernel_is_for() -> None:
    kernel = counters({m.TENSOR: 0.85, m.ALU: 0.82})
    assert clean(WAIT, kernel)
    assert verdict(kernel).cause == "ok.compute_bound"


def test_a_busier_memory_unit_is_the_limit() -> None:
    assert clean(WAIT, counters({m.ALU: 0.82, m.L1_DATA: 0.95}))


def test_slow_fp64_units_load_the_mio_queues_as_well() -> None:
    from stallscope.kernels.ceilings import Unit
    from stallscope.kernels.coupling import coupled

    assert Unit.L1_REQUESTS in coupled("double precision", "ga102")
    assert Unit.L1_REQUESTS not in coupled("double precision", "gh100")
