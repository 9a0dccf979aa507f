"""kernel.mem.atomic: many threads update few addresses.

An L2 slice (or a shared-memory bank) serves updates of one address one after the other; all other slices stay idle.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact, stall_fact, waste_worth
from stallscope.kernels.ceilings import L2_UNITS, Ceilings, Unit
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import part
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.05
HOT_SLICE = 1.5
BUSY_UNIT = 0.60
REASONS = ("lg_throttle", "long_scoreboard", "drain", "short_scoreboard", "mio_throttle", "membar")
META = KernelRuleMeta(
    id="kernel.mem.atomic",
    title="Atomic updates queue at few addresses",
    stage=Stage.PLACEMENT,
    needs=(m.L2_REDUCTIONS, m.L2_FROM_L1),
    uses=(
        m.ATOMIC_UNIT,
        m.L2_ACTIVE_AVG,
        m.L2_ACTIVE_MAX,
        m.STALLS,
        m.ISSUE_ACTIVE,
        m.SHARED_ATOMIC_CONFLICTS,
        m.SHARED_WAVEFRONTS,
    ),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when atomics are 5 % of the L2 sectors and a slice or the atomic unit is overloaded."""
    share = part(m.L2_REDUCTIONS, m.L2_FROM_L1, k)
    hot = k.ratio(m.L2_ACTIVE_MAX, m.L2_ACTIVE_AVG) or 1.0
    busy = k.get(m.ATOMIC_UNIT) or 0.0
    if share < MIN_SHARE or (hot < HOT_SLICE and busy < BUSY_UNIT):
        return None
    freed = dict.fromkeys((*L2_UNITS, Unit.L1_OUT), share if busy < BUSY_UNIT else 1.0)
    worth = waste_worth(k, ceilings, {**freed, Unit.L2: 1.0}, REASONS)
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported",
        message=f"{share:.0%} of its L2 sectors are atomics; the busiest L2 slice works {hot:.1f} times the average",
        facts=(
            fact(k, m.L2_REDUCTIONS, unit="count"),
            Fact("busiest L2 slice against the average", hot, "ratio", m.L2_ACTIVE_MAX.metrics[0]),
            stall_fact(k, "lg_throttle"),
            stall_fact(k, "drain"),
        ),
        assumes="partial results are combined on the SM before one update a block",
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Combine before updating."""
    watch = "lts__t_sectors_srcunit_tex_op_red.sum"
    return (
        Experiment(
            title="Reduce within the block first",
            change="Sum with warp shuffles and shared memory, then one atomic a block",
            apply=("__reduce_add_sync / cub::BlockReduce", "if (threadIdx.x == 0) atomicAdd(sum, total)"),
            measure=measured(knobs, watch),
            refuted_if="the atomics are gone and the kernel takes as long as before",
            numerics="fp64-gate",
        ),
        Experiment(
            title="Keep private bins in shared memory",
            change="A histogram a block (or several) in shared memory, added to the global one at the end",
            apply=("__shared__ int bins[BINS]",),
            measure=measured(knobs, watch),
            refuted_if="the atomics are gone and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
