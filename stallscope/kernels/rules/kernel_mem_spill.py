"""kernel.mem.spill: the compiler ran out of registers and keeps values in local memory.

Local memory is private to a thread and lives in DRAM behind L1 and L2. Spills differ from local arrays by counters that
ncu has since 2025.1; older files show local traffic only, and then this rule says that it cannot tell the two apart.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact, stall_fact, waste_worth
from stallscope.kernels.ceilings import Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import LOCAL_USES, local_relief
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.005
"""Spills as a part of all instructions from which they are told."""
REGISTERS_FULL = 200
"""Without spill counters, local traffic of a kernel with this many registers is taken for spills, below it is not."""
META = KernelRuleMeta(
    id="kernel.mem.spill",
    title="Registers spill to local memory",
    stage=Stage.WASTE,
    needs=(m.LOCAL_ACCESSES,),
    uses=(m.SPILLS, m.STALLS, m.ISSUE_ACTIVE, *LOCAL_USES),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when spills are at least 0.5 % of the instructions."""
    spills = k.get(m.SPILLS)
    told_apart = spills is not None
    if spills is None:
        if (k.get(m.REGISTERS) or 0) < REGISTERS_FULL:
            return None
        spills = k[m.LOCAL_ACCESSES]
    memory = k[m.LOCAL_ACCESSES] + (k.get(m.GLOBAL_LOADS) or 0.0) + (k.get(m.GLOBAL_STORES) or 0.0)
    executed = k.get(m.INSTRUCTIONS) or memory
    if not memory or spills < MIN_SHARE * executed:
        return None
    worth = waste_worth(k, ceilings, local_relief(k), ("lg_throttle", "long_scoreboard"))
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if told_apart and worth.likely > 0 else "indicated",
        message=f"{spills:,.0f} spill requests; local memory is {k[m.LOCAL_ACCESSES] / memory:.0%} of its global "
        "and local accesses" + ("" if told_apart else " (no spill counter in this file: it may also be a local array)"),
        facts=(
            Fact("spill requests", spills, "count", k.source(m.SPILLS if told_apart else m.LOCAL_ACCESSES)),
            fact(k, m.LOCAL_ACCESSES, unit="count"),
            stall_fact(k, "lg_throttle"),
        ),
        assumes="the values fit the registers and nothing else grows, occupancy included",
        caveats=() if told_apart else ("ncu before 2025.1 has no spill counter: check ptxas -v for spill stores",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """A smaller tile a thread, or more registers for it."""
    watch = "derived__local_spilling_requests"
    if knobs.in_triton:
        return (
            Experiment(
                title=f"Double num_warps to {2 * knobs.warps}",
                change="The accumulator is divided over twice as many threads",
                apply=(f"num_warps={2 * knobs.warps}",),
                measure=measured(knobs, watch),
                refuted_if="no spills are left and the kernel takes as long as before",
                numerics="bit-identical",
                effort="flag",
            ),
            Experiment(
                title="Halve BLOCK_M or BLOCK_N",
                change="Half the accumulator a program; registers, not shared memory, are the limit",
                apply=("BLOCK_N //= 2", "num_stages -= 1"),
                measure=measured(knobs, watch),
                refuted_if="no spills are left and the kernel takes as long as before: reuse lost what registers "
                "gained",
                numerics="fp64-gate",
                effort="flag",
            ),
        )
    return (
        Experiment(
            title="Let the compiler use more registers",
            change="Ask for fewer blocks an SM; 65,536 registers an SM and 255 a thread are the limits",
            apply=("__launch_bounds__(threads, fewer_blocks)", "drop -maxrregcount"),
            measure=measured(knobs, watch),
            refuted_if="no spills are left and the kernel takes as long as before: lost occupancy costs as much",
            numerics="bit-identical",
        ),
        Experiment(
            title="Keep fewer values alive",
            change="Split the kernel or its unrolled loop, or compute values again instead of keeping them",
            apply=("#pragma unroll 4", 'asm volatile(".pragma \\"enable_smem_spilling\\";")  // CUDA 13'),
            measure=measured(knobs, watch),
            refuted_if="no spills are left and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
