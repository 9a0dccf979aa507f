"""Kernels for rule tests: counters built from the quantities that matter, everything else quiet."""

from __future__ import annotations

from collections.abc import Mapping

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause
from stallscope.kernels.catalogue import all_kernel_rules
from stallscope.kernels.causes import Result, Verdict, judge
from stallscope.kernels.ceilings import Unit
from stallscope.kernels.metrics import Quantity
from stallscope.kernels.readings import REASONS, Readings, readings_of
from stallscope.model.counters import Dim3, KernelCounters, Metric

Values = Mapping[Quantity, float | None]

QUIET: dict[Quantity, float | None] = {
    m.DURATION_NS: 1e6,
    m.SM_ELAPSED: 1e6,
    m.SM_ACTIVE_AVG: 1e6,
    m.SM_ACTIVE_MAX: 1e6,
    m.GRID_SIZE: 1056.0,
    m.BLOCK_SIZE: 256.0,
    m.SM_COUNT: 132.0,
    m.LIMIT_REGISTERS: 8.0,
    m.LIMIT_SHARED: 8.0,
    m.LIMIT_BLOCKS: 32.0,
    m.LIMIT_WARPS: 8.0,
    m.THEORETICAL_OCCUPANCY: 1.0,
    m.ACHIEVED_OCCUPANCY: 0.95,
    **dict.fromkeys((m.DRAM, m.L2_ALL, m.L2_SECTORS, m.L2_DATA, m.L2_TAGS, m.L2_IN, m.L2_OUT), 0.10),
    **dict.fromkeys((m.L1_ALL, m.L1_DATA, m.L1_REQUESTS, m.L1_WRITEBACK, m.L1_OUT, m.L1_IN), 0.10),
    **dict.fromkeys((m.SM_ALL, m.ISSUE_SLOTS, m.ALU, m.FMA, m.XU), 0.10),
    m.FP64: 0.0,
    m.TENSOR: 0.0,
    m.ISSUE_ACTIVE: 0.10,
    m.THREADS: 32.0,
    m.INSTRUCTIONS: 1e7,
    m.GLOBAL_LOADS: 1e6,
    m.GLOBAL_STORES: 1e6,
    m.SHARED_LOADS: 0.0,
    m.SHARED_STORES: 0.0,
    m.THEORETICAL_SECTORS: 8e6,
    m.IDEAL_SECTORS: 8e6,
    m.L2_FROM_L1: 8e6,
    m.DRAM_READ: 1.28e8,
    m.DRAM_WRITTEN: 1.28e8,
    m.SHARED_CONFLICTS: 0.0,
    m.SHARED_WAVEFRONTS: 1e5,
    m.SYSMEM_SECTORS: 0.0,
    m.SPILLS: 0.0,
    m.REGISTERS: 32.0,
    m.LOCAL_ACCESSES: 0.0,
    m.LOCAL_SECTORS: 0.0,
    m.LOCAL_STORE_SECTORS: 0.0,
    m.LOCAL_LOAD_MISSES: 0.0,
    m.GLOBAL_SECTORS: 8e6,
    m.L2_READS: 4e6,
    m.L2_WRITES: 4e6,
    m.ASYNC_COPIES: 0.0,
    m.L2_REDUCTIONS: 0.0,
    m.L2_ACTIVE_AVG: 1e6,
    m.L2_ACTIVE_MAX: 1e6,
}
"""A kernel of eight full waves on 132 SMs that nothing limits and nothing wastes."""


def counters(
    changed: Values | None = None,
    stalls: Mapping[str, float] | None = None,
    *,
    name: str = "kernel(float *)",
    grid: Dim3 = (1056, 1, 1),
    block: Dim3 = (256, 1, 1),
    order: int = 0,
) -> KernelCounters:
    """The quiet kernel with some quantities changed (None = not collected) and its warp time split over reasons."""
    values = {**QUIET, **(changed or {})}
    metrics = {q.metrics[0]: _metric(q, value) for q, value in values.items() if value is not None}
    if stalls is not None:
        shares = {**dict.fromkeys(REASONS, 0.0), **stalls}
        shares["selected"] = 1 - sum(stalls.values())
        metrics |= {m.STALL_METRIC.format(reason=reason): Metric(share * 20) for reason, share in shares.items()}
    return KernelCounters(
        name=name, grid=grid, block=block, order=order, compute_capability="9.0", device=0, process=1, metrics=metrics
    )


def _metric(quantity: Quantity, value: float) -> Metric:
    name = quantity.metrics[0]
    percent = ".pct" in name or name.endswith("_pct")
    return Metric(value * 100, "%") if percent else Metric(value)


def result(wait: str, *kernels: KernelCounters, at: int = 0) -> Result:
    """What the rule `wait` says about kernel `at` of a run of kernels."""
    return next(one for one in verdict(*kernels, at=at).results if one.rule.meta.id == wait)


def cause(wait: str, *kernels: KernelCounters, at: int = 0) -> Cause:
    """The cause the rule must find."""
    found = result(wait, *kernels, at=at)
    assert found.outcome == "found", found
    assert found.cause is not None
    return found.cause


def verdict(*kernels: KernelCounters, at: int = 0) -> Verdict:
    """All rules on kernel `at` of a run of kernels."""
    return judge(readings(*kernels)[at], all_kernel_rules())


def readings(*kernels: KernelCounters) -> tuple[Readings, ...]:
    """Readings of a run of kernels."""
    return readings_of(kernels)


def clean(wait: str, *kernels: KernelCounters, at: int = 0) -> bool:
    """Whether the rule looked and found nothing."""
    return result(wait, *kernels, at=at).outcome == "clean"


__all__ = ["QUIET", "Unit", "cause", "clean", "counters", "m", "readings", "result", "verdict"]
