"""kernel.mem.local_array: an array of a thread is indexed at run time and therefore lives in local memory.

Registers have no addresses. ptxas reports a stack frame and 0 spill bytes; more registers do not help.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact, stall_fact, waste_worth
from stallscope.kernels.ceilings import Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import LOCAL_USES, local_relief
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.02
SPILLED = 0.5
META = KernelRuleMeta(
    id="kernel.mem.local_array",
    title="An array indexed at run time lives in local memory",
    stage=Stage.WASTE,
    needs=(m.LOCAL_ACCESSES, m.SPILLS),
    uses=(m.STALLS, m.ISSUE_ACTIVE, *LOCAL_USES),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires on local accesses that are not spills."""
    local = k[m.LOCAL_ACCESSES]
    memory = local + (k.get(m.GLOBAL_LOADS) or 0.0) + (k.get(m.GLOBAL_STORES) or 0.0)
    if not memory or local / memory < MIN_SHARE or k[m.SPILLS] >= SPILLED * local:
        return None
    worth = waste_worth(k, ceilings, local_relief(k), ("lg_throttle", "long_scoreboard"))
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if worth.likely > 0 else "indicated",
        message=f"local memory is {local / memory:.0%} of its global and local accesses, and none of it is spills",
        facts=(fact(k, m.LOCAL_ACCESSES, unit="count"), fact(k, m.SPILLS, unit="count"), stall_fact(k, "lg_throttle")),
        assumes="the array moves to registers or shared memory and neither becomes the limit",
        caveats=("call stacks, printf and alloca make local traffic too",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Constant indices, or an addressable place on the SM."""
    watch = "smsp__sass_inst_executed_op_local_ld.sum"
    return (
        Experiment(
            title="Make the indices known at compile time",
            change="Unroll the loop over the array completely, or pick elements with a chain of selects",
            apply=("#pragma unroll", "v = i == 0 ? a0 : i == 1 ? a1 : a2"),
            measure=measured(knobs, watch),
            refuted_if="no local accesses are left and the kernel takes as long as before",
            numerics="bit-identical",
        ),
        Experiment(
            title="Move the array to shared memory",
            change="One column a thread, so that all lanes hit different banks: array[index][threadIdx.x]",
            apply=("__shared__ float array[LENGTH][THREADS]",),
            measure=measured(knobs, watch),
            refuted_if="no local accesses are left and the kernel takes as long: shared memory now limits the blocks "
            "an SM",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
