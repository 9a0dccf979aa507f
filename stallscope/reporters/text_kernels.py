"""Causes inside kernels as the terminal report prints them."""

from __future__ import annotations

from stallscope.model.analysis import Analysis, KernelCauses
from stallscope.model.units import duration, share
from stallscope.reporters.terminal import Paper
from stallscope.views.names import short_kernel

MAX_KERNELS = 10
LONGEST_KERNEL = 44


def write_kernels(paper: Paper, analysis: Analysis, *, everything: bool) -> None:
    """Kernels by their share of the time, with the first cause and what removing it can give."""
    if not analysis.kernels:
        return
    paper.heading("Inside the kernels")
    limit = len(analysis.kernels) if everything else MAX_KERNELS
    for kernel in analysis.kernels[:limit]:
        _write_kernel(paper, kernel)
    if len(analysis.kernels) > limit:
        paper.line(f" … and {len(analysis.kernels) - limit} more: --all prints them", "dim")


def _write_kernel(paper: Paper, kernel: KernelCauses) -> None:
    launches = "1 launch" if kernel.launches == 1 else f"{kernel.launches} launches"
    paper.columns(
        f"   {short_kernel(kernel.kernel, LONGEST_KERNEL)}",
        f"{duration(kernel.time_ns)} ({share(kernel.share)}) in {launches}",
        "bold",
    )
    own = [cause for cause in kernel.causes if cause.wait == kernel.cause]
    gain = f", gain {share(own[0].kernel_gain.low)} – {share(own[0].kernel_gain.high)} of the kernel" if own else ""
    ceiling = f", then {own[0].ceiling} is the limit" if own and own[0].ceiling else ""
    paper.prose(f"{kernel.cause} ({kernel.evidence_level}{gain}{ceiling})", indent="     ", max_lines=2)
    if own and own[0].message:
        paper.prose(own[0].message, indent="     ", max_lines=2)
