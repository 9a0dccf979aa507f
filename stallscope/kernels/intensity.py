"""Operations, bytes and peaks of a kernel: its place under the roofline.

FLOP of the tensor path are counted by `sm__ops_path_tensor_*` (by type, so that WGMMA and sparse shapes are right),
those of the FP32 and FP64 pipes by executed instructions (an FMA is two).
"""

from __future__ import annotations

import re

from stallscope.kernels import metrics as m
from stallscope.kernels.readings import value_of
from stallscope.model.analysis import Intensity
from stallscope.model.counters import KernelCounters

_TENSOR = re.compile(r"sm__ops_path_tensor_(?:op_\w+?_)?src_([a-z0-9]+)\w*\.sum")
_SCALAR = "smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed"
_SCALAR_PEAK = "sm__sass_thread_inst_executed_op_{op}_pred_on.sum.peak_sustained"
_PIPES = {"fp32": ("fadd", "fmul", "ffma"), "fp64": ("dadd", "dmul", "dfma"), "fp16": ("hadd", "hmul", "hfma")}
_HALF_LANES = 2
"""An HFMA2 works on two values."""


def intensity_of(kernel: KernelCounters) -> Intensity | None:
    """The kernel's point and its two roofs; None when bytes, clocks or operations were not collected."""
    duration = value_of(kernel, m.DURATION_NS)
    read, written = value_of(kernel, m.DRAM_READ), value_of(kernel, m.DRAM_WRITTEN)
    peak_bytes = dram_peak_bytes_per_s(kernel)
    work = max(_candidates(kernel), key=lambda one: one[1], default=None)
    if not duration or read is None or written is None or peak_bytes is None or work is None or not work[1]:
        return None
    pipe, flop_per_s, peak = work
    return Intensity(
        pipe=pipe,
        flop_per_s=flop_per_s,
        bytes_per_s=(read + written) / duration * 1e9,
        peak_flop_per_s=peak,
        peak_bytes_per_s=peak_bytes,
    )


def dram_peak_bytes_per_s(kernel: KernelCounters) -> float | None:
    """Peak DRAM bandwidth at the clock of the measurement."""
    per_cycle, clock = value_of(kernel, m.DRAM_PEAK), value_of(kernel, m.DRAM_CLOCK)
    return None if per_cycle is None or clock is None else per_cycle * clock


def _candidates(kernel: KernelCounters) -> list[tuple[str, float, float]]:
    """Pipe, operations a second and peak for every pipe that worked."""
    return [*_tensor(kernel), *_scalar(kernel)]


def _tensor(kernel: KernelCounters) -> list[tuple[str, float, float]]:
    """Tensor work by source type: operations a second and peak.

    Of the counters that saw the same operations the narrowest path has the true peak: the sum over all paths is printed
    with the peak of sparse operands, twice that of dense ones.
    """
    duration, clock = value_of(kernel, m.DURATION_NS), value_of(kernel, m.SM_CLOCK)
    if not duration or clock is None:
        return []
    found: dict[str, tuple[float, float]] = {}
    for name, metric in kernel.metrics.items():
        kind = _TENSOR.fullmatch(name)
        peak = kernel.value(f"{name}.peak_sustained") if kind and metric.value > 0 else None
        if kind is None or peak is None:
            continue
        work, best = found.get(kind[1], (0.0, 0.0))
        if metric.value > work or (metric.value == work and peak < best):
            found[kind[1]] = (metric.value, peak)
    return [(f"tensor {kind}", work / duration * 1e9, peak * clock) for kind, (work, peak) in found.items()]


def _scalar(kernel: KernelCounters) -> list[tuple[str, float, float]]:
    clock = value_of(kernel, m.SM_CLOCK)
    found = []
    for pipe, operations in _PIPES.items():
        rates = [kernel.value(_SCALAR.format(op=op)) for op in operations]
        peak = kernel.value(_SCALAR_PEAK.format(op=operations[-1]))
        if clock is None or peak is None or any(rate is None for rate in rates):
            continue
        add, multiply, fused = (rate or 0.0 for rate in rates)
        lanes = _HALF_LANES if pipe == "fp16" else 1
        found.append((pipe, (add + multiply + 2 * fused) * lanes * clock, 2 * lanes * peak * clock))
    return found
