"""kernel.mem.bank_conflict: lanes of a warp hit different words of one shared-memory bank.

Shared memory has 32 banks of 4 bytes; a request that needs a bank n times takes n wavefronts of the L1 data pipe.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact, stall_fact, waste_worth
from stallscope.kernels.ceilings import Ceilings, Unit
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import part
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.10
META = KernelRuleMeta(
    id="kernel.mem.bank_conflict",
    title="Shared-memory accesses conflict in their banks",
    stage=Stage.WASTE,
    needs=(m.SHARED_CONFLICTS, m.SHARED_WAVEFRONTS),
    uses=(m.STALLS, m.ISSUE_ACTIVE, m.SHARED_ATOMIC_CONFLICTS),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when at least a tenth of the shared wavefronts are conflicts."""
    share = part(m.SHARED_CONFLICTS, m.SHARED_WAVEFRONTS, k)
    if share < MIN_SHARE:
        return None
    freed = {Unit.L1_DATA: share, Unit.SM: share}
    worth = waste_worth(k, ceilings, freed, ("mio_throttle", "short_scoreboard"))
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if worth.likely > 0.1 else "indicated",
        message=f"{share:.0%} of its shared-memory wavefronts are conflicts"
        + ("" if worth.binds else "; the L1 data pipe is not what limits it"),
        facts=(
            fact(k, m.SHARED_CONFLICTS, unit="count"),
            Fact("conflicts of all shared wavefronts", share, "ratio", k.source(m.SHARED_CONFLICTS)),
            stall_fact(k, "mio_throttle"),
            stall_fact(k, "short_scoreboard"),
        ),
        assumes="the padding costs no block an SM",
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Spread the words over the banks."""
    watch = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
    padding = (
        ("num_stages or BLOCK_K one step: the compiler picks another swizzle",)
        if knobs.in_triton
        else ("tile[32][33]", "column ^ (row & 31)")
    )
    return (
        Experiment(
            title="Pad or swizzle the shared tile",
            change="Make the row pitch odd in words, or xor the column with the row; TMA has swizzle modes for it",
            apply=padding,
            measure=measured(knobs, watch),
            refuted_if="the conflicts are gone and the kernel takes as long as before",
            numerics="bit-identical",
        ),
        Experiment(
            title="Use wider or matrix loads",
            change="Load 16 bytes a lane or use ldmatrix, whose phases do not conflict on a padded tile",
            apply=("float4", "ldmatrix.sync.aligned.x4"),
            measure=measured(knobs, watch),
            refuted_if="the conflicts are gone and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
