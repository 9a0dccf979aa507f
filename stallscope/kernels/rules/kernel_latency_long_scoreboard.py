"""kernel.latency.long_scoreboard: warps wait for loads from global or local memory and no unit is full.

Little's law: bytes in flight = bandwidth × latency. Too few warps, too few or too narrow loads a warp leave both idle.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact, latency_worth, stall_fact
from stallscope.kernels.ceilings import Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model.experiments import Experiment

MIN_SHARE = 0.30
MIN_HEADROOM = 0.15
"""A unit this close to its ceiling is the limit; waiting for loads is how that shows."""
META = KernelRuleMeta(
    id="kernel.latency.long_scoreboard",
    title="Warps wait for loads and no unit is full",
    stage=Stage.GENERIC,
    needs=(m.STALLS, m.ISSUE_ACTIVE),
    uses=(m.ACHIEVED_OCCUPANCY, m.ELIGIBLE_WARPS),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when long_scoreboard holds 30 % of the warp time."""
    if k.stalls is None or k.stalls["long_scoreboard"] < MIN_SHARE:
        return None
    worth = latency_worth(k, ceilings, k.stalls["long_scoreboard"])
    if worth.bound.gain < MIN_HEADROOM:
        return None
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if k.stalls.trusted and k.stalls.leading == "long_scoreboard" else "indicated",
        message=f"warps spend {k.stalls['long_scoreboard']:.0%} of their time waiting for loads; issue slots are "
        f"{k[m.ISSUE_ACTIVE]:.0%} used",
        facts=(stall_fact(k, "long_scoreboard"), fact(k, m.ISSUE_ACTIVE)),
        assumes=f"more loads in flight hide the latency until {worth.bound.ceiling} is full",
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """More bytes in flight."""
    watch = "smsp__warps_eligible.avg.per_cycle_active"
    stages = "num_stages one higher" if knobs.in_triton else "cp.async or TMA with 3–4 stages"
    return (
        Experiment(
            title="Put more loads in flight",
            change=f"Issue independent loads before their first use: {stages}; registers and shared memory stop it",
            apply=("#pragma unroll 4", "float4 / ld.global.v4", stages),
            measure=measured(knobs, watch),
            refuted_if="more loads are in flight and neither eligible warps nor bandwidth rise",
            numerics="bit-identical",
        ),
        Experiment(
            title="Run more warps",
            change=f"The blocks an SM are limited by {knobs.limit or 'the launch'}; launch more or smaller blocks",
            apply=("more blocks in the grid", "__launch_bounds__ with more blocks an SM"),
            measure=measured(knobs, "sm__warps_active.avg.pct_of_peak_sustained_active"),
            refuted_if="occupancy rises and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
