"""ok.memory_bound: the kernel moves what it asks for, once, as fast as DRAM can.

Nothing inside the kernel is left to win; only a change of what it computes (fusion, fewer or narrower bytes) helps.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact
from stallscope.kernels.ceilings import Bound, Ceilings, Unit
from stallscope.kernels.readings import Readings

AT_THE_ROOF = 0.85
META = KernelRuleMeta(
    id="ok.memory_bound",
    title="The kernel runs at the DRAM roof",
    stage=Stage.OK,
    needs=(m.DRAM,),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires at 85 % of attainable DRAM bandwidth."""
    used = ceilings.of_ceiling(Unit.DRAM)
    if used < AT_THE_ROOF or ceilings.top[0] is not Unit.DRAM:
        return None
    return Cause(
        likely=0.0,
        bound=Bound(max(0.0, 1 - used), Unit.DRAM.value),
        level="supported",
        message=f"{used:.0%} of attainable DRAM bandwidth; inside the kernel nothing is left to win",
        facts=(fact(k, m.DRAM),),
        assumes="it moves the same bytes",
    )


RULE = KernelRule(META, diagnose)
