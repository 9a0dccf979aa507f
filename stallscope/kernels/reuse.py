"""A saturated level of the memory hierarchy, and what using every loaded value more often would free."""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, stall_fact, unit_fact
from stallscope.kernels.ceilings import Ceilings, Unit
from stallscope.kernels.coupling import Work, chip_of, coupled
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import load_share
from stallscope.model.experiments import Experiment

MIN_USED = 0.75
REUSE_REACHED = 0.8
"""Part of the bound that more reuse reaches: a larger tile removes most loads, not all. Fitted on the tuning pairs."""
REUSE_NEEDS = (m.L2_ALL,)
REUSE_USES = (m.GLOBAL_LOADS, m.SHARED_LOADS, m.INSTRUCTIONS, m.STALLS, m.L1_HIT_RATE, m.L2_HIT_RATE)
REFUTED_IF = "the traffic falls by the predicted share and the time does not"


def reloading(k: Readings, ceilings: Ceilings, level: tuple[Unit, ...], what: Work, assumes: str) -> Cause | None:
    """The cause when this level is the busiest and at three quarters of its peak.

    `what` is the row of `coupling` that says which other units the reloads load.
    """
    unit, used = ceilings.highest(level)
    if used < MIN_USED or not ceilings.binds(level):
        return None
    freed: dict[Unit, float] = dict.fromkeys(coupled(what, chip_of(k.kernel.compute_capability)), 1.0)
    freed |= dict.fromkeys((Unit.ISSUE, Unit.SM), _loads(k))
    bound = ceilings.bound(freed)
    waits = k.stalls and k.stalls.sum("long_scoreboard", "lg_throttle", "mio_throttle") > 0.3
    return Cause(
        likely=REUSE_REACHED * bound.gain,
        bound=bound,
        level="supported" if waits else "indicated",
        message=f"{unit.value} is at {used:.0%} of its peak",
        facts=(unit_fact(ceilings, unit), *((stall_fact(k, k.stalls.leading),) if k.stalls else ())),
        assumes=assumes,
    )


def _loads(k: Readings) -> float:
    """Loads as a part of all instructions: more reuse saves the instruction as well."""
    shared, all_of_them = k.get(m.SHARED_LOADS) or 0.0, k.get(m.INSTRUCTIONS)
    return min(0.9, load_share(k) + (shared / all_of_them if all_of_them else 0.0))


def larger_tile(knobs: Knobs, metric: str) -> Experiment:
    """More operations for each loaded value; `metric` counts the traffic that must fall."""
    now = f" (now {knobs.tile.text})" if knobs.tile else ""
    tile = f"larger BLOCK_M, BLOCK_N, BLOCK_K{now}" if knobs.in_triton else f"a larger tile a block and a thread{now}"
    return Experiment(
        title="Enlarge the tile",
        change=f"Each loaded value serves more operations: {tile}; registers ({knobs.registers} of 255) and "
        "shared memory stop it",
        apply=("BLOCK_M=128, BLOCK_N=128, BLOCK_K=64", "4×4 or 8×8 results a thread"),
        measure=measured(knobs, metric),
        refuted_if=REFUTED_IF,
        numerics="fp64-gate",
        effort="flag" if knobs.in_triton else "rewrite",
    )
