"""kernel.latency.membar: warps wait for memory fences.

A fence waits until earlier writes are visible in its scope: cheap for a block, an L2 round trip for the device, a trip
over the link for the system.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact, latency_worth, stall_fact
from stallscope.kernels.ceilings import Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.10
META = KernelRuleMeta(
    id="kernel.latency.membar",
    title="Warps wait for memory fences",
    stage=Stage.PLACEMENT,
    needs=(m.STALLS, m.ISSUE_ACTIVE),
    uses=(m.MEMBAR_REQUESTS,),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when fences hold 10 % of the warp time."""
    if k.stalls is None or k.stalls["membar"] < MIN_SHARE:
        return None
    worth = latency_worth(k, ceilings, k.stalls["membar"])
    counted = k.get(m.MEMBAR_REQUESTS) is not None
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if counted else "indicated",
        message=f"warps spend {k.stalls['membar']:.0%} of their time in memory fences",
        facts=(
            stall_fact(k, "membar"),
            fact(k, m.ISSUE_ACTIVE),
            *((fact(k, m.MEMBAR_REQUESTS, unit="count"),) if counted else ()),
        ),
        assumes="fewer fences, or a narrower scope, keep the program correct",
        caveats=("check with compute-sanitizer --tool racecheck: a fence too few is a race",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Fewer fences of a narrower scope."""
    watch = "smsp__average_warps_issue_stalled_membar_per_issue_active.ratio"
    return (
        Experiment(
            title="Narrow the scope of the fence",
            change="Block scope where the block reads, device scope where the device reads, system scope for the "
            "host only",
            apply=("__threadfence_block()", "cuda::atomic_ref<T, cuda::thread_scope_device>"),
            measure=measured(knobs, watch),
            refuted_if="the fence share falls and the kernel takes as long as before",
            numerics="bit-identical",
        ),
        Experiment(
            title="Fence once for many writes",
            change="Write all, then one fence and one flag; let one elected thread publish it",
            apply=("flag.store(1, cuda::memory_order_release)",),
            measure=measured(knobs, watch),
            refuted_if="the fence share falls and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
