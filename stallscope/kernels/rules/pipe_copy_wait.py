"""pipe.copy_wait: a loop loads a tile, waits for it, then works on it; loads and work take turns.

Global values travel through registers into shared memory (LDG, STS, barrier) without cp.async or TMA, or with a single
stage. With n tiles of load time L and work C a pipeline takes n·max(L, C) + L instead of n·(L + C).
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact, latency_worth, stall_fact
from stallscope.kernels.ceilings import Ceilings, Unit
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.25
MIN_LOADS_A_WARP = 24
STAGED = (0.5, 1.5)
MEMORY_FULL = 0.85
META = KernelRuleMeta(
    id="pipe.copy_wait",
    title="Tile loads and the work on them take turns",
    stage=Stage.LATENCY,
    needs=(m.STALLS, m.ISSUE_ACTIVE, m.SHARED_STORES, m.GLOBAL_LOADS, m.ASYNC_COPIES, m.GRID_SIZE, m.BLOCK_SIZE),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires for a loop that stages through registers and waits for loads and barriers a quarter of its warp time."""
    if k.stalls is None or k[m.ASYNC_COPIES] > 0 or ceilings.of_ceiling(Unit.DRAM) >= MEMORY_FULL:
        return None
    loads, stores = k[m.GLOBAL_LOADS], k[m.SHARED_STORES]
    warps = k[m.GRID_SIZE] * max(1.0, k[m.BLOCK_SIZE] / 32)
    if not loads or not STAGED[0] <= stores / loads <= STAGED[1] or loads / warps < MIN_LOADS_A_WARP:
        return None
    waiting = k.stalls.sum("long_scoreboard", "barrier")
    if waiting < MIN_SHARE:
        return None
    worth = latency_worth(k, ceilings, waiting)
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if k.stalls["long_scoreboard"] > 0.15 else "indicated",
        message=f"{loads / warps:.0f} loads a warp go through registers to shared memory without cp.async or TMA; "
        f"loads and barriers hold {waiting:.0%} of the warp time",
        facts=(
            stall_fact(k, "long_scoreboard"),
            stall_fact(k, "barrier"),
            fact(k, m.ASYNC_COPIES, unit="count"),
            Fact("shared stores for each global load", stores / loads, "ratio", k.source(m.SHARED_STORES)),
        ),
        assumes="the next tile loads while this one is worked on",
        caveats=("with many warps an SM the latency is hidden already: then more stages bring nothing",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Stages."""
    watch = "smsp__inst_executed_op_ldgsts.sum"
    if knobs.in_triton:
        return (
            Experiment(
                title="Raise num_stages to 3",
                change="Triton turns the loads of the loop into cp.async with that many tiles in shared memory",
                apply=("num_stages=2", "num_stages=3", "num_stages=4"),
                measure=measured(knobs, watch),
                refuted_if="asynchronous copies appear, long_scoreboard falls and the kernel takes as long as before",
                numerics="bit-identical",
                effort="flag",
            ),
        )
    return (
        Experiment(
            title="Load the next tile asynchronously",
            change="cp.async with 3–4 stages (8.0) or TMA with an mbarrier (9.0); each stage costs a tile of "
            "shared memory",
            apply=("cuda::memcpy_async with cuda::pipeline<N>", "__pipeline_memcpy_async", "cp.async.bulk.tensor"),
            measure=measured(knobs, watch),
            refuted_if="asynchronous copies appear, long_scoreboard falls and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
