"""kernel.compute.divergence: lanes of a warp take different paths, so instructions run for a part of them only."""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import REACHED_OF_BOUND, Cause, KernelRule, KernelRuleMeta, Stage, fact, unit_fact
from stallscope.kernels.ceilings import SM_UNITS, Ceilings, Unit
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

WARP = 32
FEW_THREADS = 24
META = KernelRuleMeta(
    id="kernel.compute.divergence",
    title="Warps run with a part of their lanes",
    stage=Stage.WASTE,
    needs=(m.THREADS,),
    uses=(m.STALLS,),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires below 24 active threads an instruction. Where the SM does not bind, waiting for memory is not shortened."""
    threads = k[m.THREADS]
    if not 0 < threads < FEW_THREADS:
        return None
    unused = 1 - threads / WARP
    freed = dict.fromkeys((*SM_UNITS, Unit.L1_REQUESTS), unused)
    bound = ceilings.bound(freed)
    waiting = k.stalls.sum("long_scoreboard", "lg_throttle", "barrier", "membar") if k.stalls else 1.0
    likely = bound.gain if ceilings.binds(SM_UNITS) else min(bound.gain, unused * (1 - waiting))
    return Cause(
        likely=REACHED_OF_BOUND * likely,
        bound=bound,
        level="supported" if k.stalls is not None and likely > 0.1 else "indicated",
        message=f"{threads:.1f} of 32 threads are active in an average instruction",
        facts=(fact(k, m.THREADS, unit="count"), unit_fact(ceilings, Unit.ISSUE)),
        assumes="the lanes of a warp take the same path after the change",
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """One path a warp."""
    return (
        Experiment(
            title="Sort the items by their path",
            change="Give the lanes of a warp items of the same kind and length: sort, bin or compact before the kernel",
            apply=("item = order[thread]", "one kernel a kind", "__ballot_sync compaction"),
            measure=measured(knobs, "smsp__thread_inst_executed_per_inst_executed.ratio"),
            refuted_if="nearly all threads are active and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
