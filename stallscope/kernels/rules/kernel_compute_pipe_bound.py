"""kernel.compute.pipe_bound: one arithmetic pipe, or the issue slots, is full.

FP64 where FP32 is enough, special functions and divisions in inner loops, address arithmetic: fewer or cheaper
instructions are the only way down. Tensor pipes are left out: a full one is what a matrix product is made for.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, unit_fact
from stallscope.kernels.ceilings import Bound, Ceilings, Unit
from stallscope.kernels.coupling import chip_of, coupled
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

FULL = 0.80
PIPES = (Unit.FP64, Unit.XU, Unit.ALU, Unit.FMA, Unit.ISSUE)
TENSOR_WORK = 0.30
FP32_OF_FP64_TIME = 0.5
"""FP32 instructions take half of an FP64 instruction's pipe time on the chips with the fastest FP64 unit."""
STRENGTH_REDUCED = 0.65
"""Part of the bound that strength reduction reached on the tuning pairs (0.63 and 0.70 of the time)."""
META = KernelRuleMeta(
    id="kernel.compute.pipe_bound",
    title="An arithmetic pipe is full",
    stage=Stage.THROUGHPUT,
    needs=(m.SM_ALL,),
    uses=(m.STALLS,),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when a pipe or the issue slots are at 80 % and tensor cores are not the point of the kernel."""
    unit, used = ceilings.highest(PIPES)
    if used < FULL or not ceilings.binds(PIPES) or ceilings.of_ceiling(Unit.TENSOR) >= TENSOR_WORK:
        return None
    chip = chip_of(k.kernel.compute_capability)
    if unit is Unit.FP64:
        bound = ceilings.bound(dict.fromkeys(coupled("double precision", chip), 1.0))
        likely = min(bound.gain, 1 - FP32_OF_FP64_TIME * used)
    else:
        bound = ceilings.bound(dict.fromkeys(coupled("instructions", chip), 1.0))
        likely = STRENGTH_REDUCED * bound.gain
    return Cause(
        likely=likely,
        bound=Bound(bound.gain, bound.ceiling),
        level="supported" if unit is Unit.FP64 else "indicated",
        message=f"{unit.value} is at {used:.0%} of its peak",
        facts=(unit_fact(ceilings, unit), unit_fact(ceilings, Unit.ISSUE)),
        assumes="the work can be done with cheaper instructions",
        caveats=() if unit is Unit.FP64 else ("counters do not tell which instructions the algorithm needs",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Cheaper instructions."""
    return (
        Experiment(
            title="Use single precision where it is enough",
            change="Literals without f, double accumulators and math functions on double promote whole expressions",
            apply=("1.0f instead of 1.0", "sinf, expf", "fp32 accumulation with compensation"),
            measure=measured(knobs, "sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed"),
            refuted_if="the FP64 pipe is empty and the kernel takes as long as before",
            numerics="fp64-gate",
        ),
        Experiment(
            title="Reduce the strength of the inner loop",
            change="Divisions and modulo by constants or powers of two, exponentials by recurrences, addresses by "
            "increments",
            apply=("x >> shift, x & mask", "__fdividef, __expf", "cutlass::FastDivmod", "#pragma unroll"),
            measure=measured(knobs, "smsp__inst_executed.sum"),
            refuted_if="the instructions fall and the kernel takes as long as before",
            numerics="fp64-gate",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
