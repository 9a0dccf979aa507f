"""kernel.latency.small_grid: fewer blocks than the device has multiprocessors.

A block runs on one SM; SMs without a block idle for the whole kernel, whatever the kernel does.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact
from stallscope.kernels.ceilings import Bound, Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

META = KernelRuleMeta(
    id="kernel.latency.small_grid",
    title="The grid has fewer blocks than the device has SMs",
    stage=Stage.PARALLELISM,
    needs=(m.GRID_SIZE, m.SM_COUNT),
    needs_ceilings=False,
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when some SMs cannot get a block. Splitting the work lets all SMs share it, and hides latency besides."""
    blocks, sms = k[m.GRID_SIZE], k[m.SM_COUNT]
    if not 0 < blocks < sms:
        return None
    idle = 1 - blocks / sms
    bound = ceilings.bound({}) if ceilings.utilisation else Bound(idle, "SMs")
    return Cause(
        likely=idle,
        bound=bound if bound.gain >= idle else Bound(idle, "SMs"),
        level="supported",
        message=f"{blocks:.0f} blocks on {sms:.0f} SMs: {sms - blocks:.0f} SMs have nothing to do",
        facts=(fact(k, m.GRID_SIZE, unit="count"), fact(k, m.SM_COUNT, unit="count")),
        assumes="the work can be split over all SMs, and nothing else could have run beside the kernel",
        caveats=("a second stream with work for the idle SMs fixes it without touching the kernel",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """More blocks for the same work."""
    split = (
        "split-K or a smaller BLOCK_M/BLOCK_N" if knobs.in_triton else "split-K, a smaller tile or a grid-stride loop"
    )
    return (
        Experiment(
            title="Split the work over more blocks",
            change=f"Launch at least one block an SM: {split}",
            apply=("grid = k × multiprocessor_count", "batch several small problems into one launch"),
            measure=measured(knobs, "launch__grid_size"),
            refuted_if="all SMs are active (sm__cycles_active.min near .max) and the kernel takes as long as before",
            numerics="fp64-gate",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
