"""kernel.mem.sysmem: the kernel reads or writes host memory over PCIe or C2C while it runs.

Mapped (zero-copy) memory and managed pages that live on the host are served over the link at a fiftieth of the DRAM
bandwidth. ncu keeps managed pages resident after its first pass, so page faults themselves are not visible here.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact, latency_worth, stall_fact
from stallscope.kernels.ceilings import Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import SECTOR_BYTES, part
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.01
MIN_RATE = 1e9
"""Bytes a second over the link below which it is a flag or a counter that is read, not the kernel's data."""
META = KernelRuleMeta(
    id="kernel.mem.sysmem",
    title="The kernel reads host memory over the link",
    stage=Stage.PLACEMENT,
    needs=(m.SYSMEM_SECTORS, m.L2_FROM_L1, m.DURATION_NS),
    uses=(m.STALLS, m.ISSUE_ACTIVE),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires above 1 % of the L2 sectors and 1 GB/s."""
    share = part(m.SYSMEM_SECTORS, m.L2_FROM_L1, k)
    rate = k[m.SYSMEM_SECTORS] * SECTOR_BYTES / k[m.DURATION_NS] * 1e9 if k[m.DURATION_NS] else 0.0
    if share < MIN_SHARE or rate < MIN_RATE or k.stalls is None:
        return None
    waiting = k.stalls.sum("long_scoreboard", "lg_throttle", "drain", "membar")
    worth = latency_worth(k, ceilings, waiting)
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if waiting > 0.3 else "indicated",
        message=f"{share:.0%} of its L2 sectors come from host memory, at {rate / 1e9:.1f} GB/s",
        facts=(
            fact(k, m.SYSMEM_SECTORS, unit="count"),
            Fact("host memory traffic", rate, "bytes/s", k.source(m.SYSMEM_SECTORS)),
            stall_fact(k, "long_scoreboard"),
        ),
        assumes="the data lies in device memory when the kernel starts; the copy is hidden or done once",
        caveats=("the copy that replaces the accesses takes its own time on the timeline",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Bring the data to the device first."""
    return (
        Experiment(
            title="Copy the data to device memory before the kernel",
            change="Replace the mapped or managed input by a device buffer filled with cudaMemcpyAsync on a side "
            "stream",
            apply=(
                "cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, copy_stream)",
                "cudaMemPrefetchAsync(ptr, bytes, device)",
            ),
            measure=measured(knobs, "lts__t_sectors_srcunit_tex_aperture_sysmem_lookup_miss.sum"),
            refuted_if="no sectors come from host memory and the step takes as long as before: the copy is exposed "
            "instead",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
