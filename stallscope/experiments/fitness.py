"""Whether the changed kernels still fit the machine: multiprocessor occupancy, and code built for the GPU."""

from __future__ import annotations

from collections.abc import Sequence

from stallscope.experiments.runs import Run
from stallscope.model.comparison import Reason
from stallscope.model.workload import KernelWork
from stallscope.numerics.resources import Occupancy, Resources, occupancy

MAX_REASONS = 5
MIN_TIME_SHARE = 0.01
"""Kernels below this part of the head's kernel time are not worth a line."""

_COMPILED_AT_LOAD = "init.jit"


def fitness(base: Sequence[Run], head: Sequence[Run]) -> list[Reason]:
    """Caveats about the head: kernels that lost occupancy, and code that is compiled at load time."""
    return [*_occupancy(base[0], head[0]), *_compiled_at_load(head[0])]


def _occupancy(base: Run, head: Run) -> list[Reason]:
    before, after = _fits(base), _fits(head)
    total = sum(kernel.time_ns for kernel in head.workload.kernels) or 1
    found = []
    for name, (kernel, now) in after.items():
        was = before.get(name)
        if was is None or kernel.time_ns < MIN_TIME_SHARE * total or now.blocks >= was[1].blocks:
            continue
        message = (
            f"{name}: {was[1].blocks} → {now.blocks} blocks a multiprocessor, "
            f"bound by {' and '.join(now.binding)} ({now.warps_share:.0%} of its warps)"
        )
        found.append(Reason(id="valid.resource", message=message))
    return found[:MAX_REASONS]


def _fits(run: Run) -> dict[str, tuple[KernelWork, Occupancy]]:
    """Occupancy of the longest-running shape of every kernel name, where the trace recorded its resources."""
    capability = run.environment.get("compute_capability", "")
    found: dict[str, tuple[KernelWork, Occupancy]] = {}
    for kernel in run.workload.kernels:  # by time, longest first
        threads = kernel.block[0] * kernel.block[1] * kernel.block[2]
        fit = occupancy(Resources(threads, kernel.registers, kernel.shared_bytes), capability)
        if fit is not None and kernel.registers and kernel.kernel not in found:
            found[kernel.kernel] = kernel, fit
    return found


def _compiled_at_load(run: Run) -> list[Reason]:
    if not any(finding.wait == _COMPILED_AT_LOAD for finding in run.analysis.findings):
        return []
    capability = run.environment.get("compute_capability", "this GPU")
    message = (
        f"the head compiles code at load time: its binary holds no machine code for compute capability {capability}"
    )
    return [Reason(id="valid.capability", message=message)]
