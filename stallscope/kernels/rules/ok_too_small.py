"""ok.too_small: a kernel so short that counters say nothing about it.

Launch latency, ramp-up and the cold caches of kernel replay dominate; what limits such a kernel is decided on the
timeline (launch.gap, launch.drain), not in its counters.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact
from stallscope.kernels.ceilings import Bound, Ceilings
from stallscope.kernels.readings import Readings

SHORT_NS = 10_000
META = KernelRuleMeta(
    id="ok.too_small",
    title="The kernel is too short to judge from counters",
    stage=Stage.TRUST,
    needs=(m.DURATION_NS,),
    needs_ceilings=False,
)


def diagnose(k: Readings, _ceilings: Ceilings) -> Cause | None:
    """Fires below 10 µs."""
    if k[m.DURATION_NS] >= SHORT_NS:
        return None
    return Cause(
        likely=0.0,
        bound=Bound(0.0, "launch"),
        level="supported",
        message="shorter than 10 µs: launch latency and cold caches dominate its counters; look at the timeline "
        "instead",
        facts=(fact(k, m.DURATION_NS, unit="ns"),),
        assumes="nothing is claimed",
    )


RULE = KernelRule(META, diagnose)
