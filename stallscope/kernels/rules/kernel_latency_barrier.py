"""kernel.latency.barrier: warps wait for the other warps of their block.

A barrier costs the spread of its warps and empties the SM when too few blocks are there to fill it.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact, idle_share, stall_fact
from stallscope.kernels.ceilings import Ceilings, Unit
from stallscope.kernels.coupling import chip_of, coupled
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import part
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.15
WITH_IT = ("mio_throttle", "short_scoreboard")
META = KernelRuleMeta(
    id="kernel.latency.barrier",
    title="Warps wait at block barriers",
    stage=Stage.LATENCY,
    needs=(m.STALLS, m.ISSUE_ACTIVE),
    uses=(m.SHARED_STORES, m.GLOBAL_LOADS, m.SHARED_CONFLICTS, m.SHARED_WAVEFRONTS, m.BLOCK_SIZE),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when barriers hold 15 % of the warp time.

    Where the block exchanges data through shared memory around its barriers (more shared stores than global loads),
    the exchange goes with them.
    """
    idle = idle_share(k)
    if k.stalls is None or idle is None or k.stalls["barrier"] < MIN_SHARE:
        return None
    stores, loads = k.get(m.SHARED_STORES) or 0.0, k.get(m.GLOBAL_LOADS) or 0.0
    exchange = stores > 1.5 * loads and part(m.SHARED_CONFLICTS, m.SHARED_WAVEFRONTS, k) < 0.5
    freed: dict[Unit, float] = {}
    if exchange:
        freed = dict.fromkeys(coupled("block exchange", chip_of(k.kernel.compute_capability)), 1.0)
    bound = ceilings.bound(freed)
    waiting = k.stalls["barrier"] + (k.stalls.sum(*WITH_IT) if exchange else 0.0)
    return Cause(
        likely=min(bound.gain, waiting * idle),
        bound=bound,
        level="supported" if k.stalls.trusted and k.stalls.leading == "barrier" else "indicated",
        message=f"warps spend {k.stalls['barrier']:.0%} of their time at barriers; issue slots are "
        f"{k[m.ISSUE_ACTIVE]:.0%} used",
        facts=(stall_fact(k, "barrier"), fact(k, m.ISSUE_ACTIVE)),
        assumes="the same work needs fewer barriers" + (" and less exchange through shared memory" if exchange else ""),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Fewer barriers, or someone else to run meanwhile."""
    watch = "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"
    return (
        Experiment(
            title="Exchange within warps",
            change="Reduce and scan with warp shuffles; one barrier for the warps' results",
            apply=("__shfl_down_sync", "__reduce_add_sync", "cub::BlockReduce, cub::BlockScan"),
            measure=measured(knobs, watch),
            refuted_if="the barrier share falls and another reason takes its place",
            numerics="fp64-gate",
        ),
        Experiment(
            title="Use smaller blocks, more of them an SM",
            change=f"Blocks of {knobs.warps * 16} threads instead of {knobs.warps * 32}: another block runs while "
            "one waits",
            apply=(f"num_warps={max(1, knobs.warps // 2)}" if knobs.in_triton else "threads / 2, blocks × 2",),
            measure=measured(knobs, watch),
            refuted_if="more blocks run an SM and the kernel takes as long as before",
            numerics="fp64-gate",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
