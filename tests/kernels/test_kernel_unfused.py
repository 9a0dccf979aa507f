"""kernel.unfused: fires on its smallest kernel, stays silent on its look-alikes."""

from __future__ import annotations

import pytest
from kernel_samples import cause, clean, counters, m, verdict

WAIT = "kernel.unfused"

STREAM = {m.DRAM: 0.85, m.DRAM_READ: 256e6, m.DRAM_WRITTEN: 240e6}


def chain(*names: str) -> tuple[object, ...]:
    """Streaming kernels in a row."""
    return tuple(counters(STREAM, name=name, order=order) for order, name in enumerate(names))


def test_the_middle_of_a_chain_only_passes_data_on() -> None:
    kernels = chain("scale(float *)", "bias(float *)", "gate(float *)")
    assert cause(WAIT, *kernels, at=0).likely == pytest.approx(240 / 496)
    assert cause(WAIT, *kernels, at=1).likely == 1.0
    assert cause(WAIT, *kernels, at=2).likely == pytest.approx(256 / 496)
    assert verdict(*kernels, at=1).cause == WAIT


def test_one_kernel_alone_is_memory_bound() -> None:
    assert clean(WAIT, *chain("scale(float *)"))


def test_a_repeat_of_the_same_kernel_is_no_chain() -> None:
    assert clean(WAIT, *chain("scale(float *)", "scale(float *)"))


def test_a_reader_of_other_sizes_is_no_chain() -> None:
    other = counters({**STREAM, m.DRAM_READ: 64e6}, name="bias(float *)", order=1)
    assert clean(WAIT, *chain("scale(float *)"), other)


def test_a_launch_that_was_not_profiled_lies_between() -> None:
    far = counters(STREAM, name="bias(float *)", order=5)
    assert clean(WAIT, *chain("scale(float *)"), far)


def test_a_matrix_product_is_not_element_wise() -> None:
    assert clean(WAIT, *chain("scale(float *)", "gemm(float *)"))
