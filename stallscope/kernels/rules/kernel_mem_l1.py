"""kernel.mem.l1: the L1 data path limits the kernel.

L1 and shared memory share one data pipe of 128 bytes a cycle and SM; each operand is loaded for too few operations.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, stall_fact, unit_fact
from stallscope.kernels.ceilings import L1_UNITS, Ceilings, Unit
from stallscope.kernels.coupling import chip_of, coupled
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import load_share
from stallscope.model.experiments import Experiment

MIN_USED = 0.75
REUSE_REACHED = 0.8
"""Part of the bound that more reuse reaches: a larger tile removes most loads, not all. Fitted on the tuning pairs."""
META = KernelRuleMeta(
    id="kernel.mem.l1",
    title="The L1 data path limits the kernel",
    stage=Stage.THROUGHPUT,
    needs=(m.L2_ALL,),
    uses=(m.GLOBAL_LOADS, m.SHARED_LOADS, m.INSTRUCTIONS, m.STALLS, m.L1_HIT_RATE, m.L2_HIT_RATE),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when the level is the busiest and at three quarters of its peak."""
    unit, used = ceilings.highest(L1_UNITS)
    if used < MIN_USED or not ceilings.binds(L1_UNITS):
        return None
    loads = _loads(k)
    freed: dict[Unit, float] = dict.fromkeys(coupled("l1 reloads", chip_of(k.kernel.compute_capability)), 1.0)
    freed |= dict.fromkeys((Unit.ISSUE, Unit.SM), loads)
    bound = ceilings.bound(freed)
    return Cause(
        likely=REUSE_REACHED * bound.gain,
        bound=bound,
        level="supported"
        if k.stalls and k.stalls.sum("long_scoreboard", "lg_throttle", "mio_throttle") > 0.3
        else "indicated",
        message=f"{unit.value} is at {used:.0%} of its peak",
        facts=(unit_fact(ceilings, unit), *((stall_fact(k, k.stalls.leading),) if k.stalls else ())),
        assumes="loaded values are used again from registers (a larger tile a thread)",
    )


def _loads(k: Readings) -> float:
    """Loads as a part of all instructions: more reuse saves the instruction as well."""
    shared, all_of_them = k.get(m.SHARED_LOADS) or 0.0, k.get(m.INSTRUCTIONS)
    return min(0.9, load_share(k) + (shared / all_of_them if all_of_them else 0.0))


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """More operations for each loaded value."""
    now = f" (now {knobs.tile.text})" if knobs.tile else ""
    tile = f"larger BLOCK_M, BLOCK_N, BLOCK_K{now}" if knobs.in_triton else f"a larger tile a block and a thread{now}"
    return (
        Experiment(
            title="Enlarge the tile",
            change=f"Each loaded value serves more operations: {tile}; registers ({knobs.registers} of 255) and "
            "shared memory stop it",
            apply=("BLOCK_M=128, BLOCK_N=128, BLOCK_K=64", "4×4 or 8×8 results a thread"),
            measure=measured(knobs, "l1tex__data_pipe_lsu_wavefronts.avg"),
            refuted_if="the traffic falls by the predicted share and the time does not",
            numerics="fp64-gate",
            effort="flag" if knobs.in_triton else "rewrite",
        ),
        Experiment(
            title="Load wider",
            change="One 16-byte load instead of four: a quarter of the requests for the same bytes",
            apply=(
                "float4 / ld.shared.v4",
                "ldmatrix",
            ),
            measure=measured(knobs, "l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed"),
            refuted_if="the traffic falls by the predicted share and the time does not",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
