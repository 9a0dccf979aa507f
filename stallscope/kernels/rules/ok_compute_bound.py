"""ok.compute_bound: the arithmetic the kernel is made for keeps its pipe busy."""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, unit_fact
from stallscope.kernels.ceilings import SM_UNITS, Bound, Ceilings, Unit
from stallscope.kernels.readings import Readings

TENSOR_BUSY = 0.70
"""Tensor pipes of well-tuned matrix products on an H200 run at 0.75–0.85 under its power limit."""
SM_BUSY = 0.60
META = KernelRuleMeta(
    id="ok.compute_bound",
    title="The kernel keeps its arithmetic busy",
    stage=Stage.OK,
    needs=(m.SM_ALL,),
    uses=(m.STALLS,),
)


def diagnose(_k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when the tensor pipe is at 70 %, or an SM unit at 60 % and the busiest of all."""
    tensor = ceilings.of_ceiling(Unit.TENSOR)
    unit, used = ceilings.highest(SM_UNITS)
    if tensor < TENSOR_BUSY and (used < SM_BUSY or not ceilings.binds(SM_UNITS)):
        return None
    unit, used = (Unit.TENSOR, tensor) if tensor >= TENSOR_BUSY else (unit, used)
    return Cause(
        likely=0.0,
        bound=Bound(max(0.0, 1 - used), unit.value),
        level="supported",
        message=f"{unit.value} is at {used:.0%} of its peak",
        facts=(unit_fact(ceilings, unit),),
        assumes="it does the same operations on the same pipe",
    )


RULE = KernelRule(META, diagnose)
