"""kernel.latency.dependency: each instruction waits for the one before it and too few warps fill the gaps."""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact, latency_worth, stall_fact
from stallscope.kernels.ceilings import MEMORY_UNITS, Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.30
ISSUE_IDLE = 0.60
MEMORY_QUIET = 0.40
META = KernelRuleMeta(
    id="kernel.latency.dependency",
    title="Dependent instructions leave issue slots empty",
    stage=Stage.GENERIC,
    needs=(m.STALLS, m.ISSUE_ACTIVE),
    uses=(m.ELIGIBLE_WARPS,),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when fixed latencies hold 30 % of the warp time, slots are idle and memory is quiet."""
    if k.stalls is None or k.stalls["wait"] < MIN_SHARE or k[m.ISSUE_ACTIVE] >= ISSUE_IDLE:
        return None
    if ceilings.highest(MEMORY_UNITS)[1] >= MEMORY_QUIET:
        return None
    worth = latency_worth(k, ceilings, k.stalls.sum("wait", "branch_resolving", "dispatch_stall"))
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if k.stalls.trusted and k.stalls.leading == "wait" else "indicated",
        message=f"warps spend {k.stalls['wait']:.0%} of their time on fixed latencies; issue slots are "
        f"{k[m.ISSUE_ACTIVE]:.0%} used",
        facts=(stall_fact(k, "wait"), fact(k, m.ISSUE_ACTIVE)),
        assumes="independent work exists to fill the slots",
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Independent instructions."""
    watch = "smsp__issue_active.avg.pct_of_peak_sustained_active"
    return (
        Experiment(
            title="Interleave independent chains",
            change="Let each thread work on several items or partial sums at once",
            apply=("#pragma unroll 4 with 4 accumulators", "two items a thread"),
            measure=measured(knobs, watch),
            refuted_if="the chains are interleaved and the issue slots stay idle",
            numerics="fp64-gate",
        ),
        Experiment(
            title="Run more warps",
            change=f"The blocks an SM are limited by {knobs.limit or 'the launch'}; launch more threads",
            apply=("more blocks or larger blocks",),
            measure=measured(knobs, watch),
            refuted_if="more warps are active and the issue slots stay idle",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
