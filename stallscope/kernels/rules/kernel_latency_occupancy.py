"""kernel.latency.occupancy: registers, shared memory or block size keep warps out that would hide the latency.

Low occupancy alone is no fault: tensor and TMA kernels run one block an SM by design. It counts only while warps wait
for memory and the issue slots are idle.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, KernelRule, KernelRuleMeta, Stage, fact, idle_share, stall_fact
from stallscope.kernels.ceilings import Ceilings, Unit
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.waves import WAVES, blocks_an_sm
from stallscope.model.experiments import Experiment

LOW = 0.60
ACHIEVED_WITHIN = 0.10
MIN_WAITING = 0.30
TENSOR_WORK = 0.30
MAX_STEP = 4.0
"""Occupancy is assumed to rise no more than fourfold in one change."""
META = KernelRuleMeta(
    id="kernel.latency.occupancy",
    title="Too few warps fit an SM to hide the latency",
    stage=Stage.LATENCY,
    needs=(m.THEORETICAL_OCCUPANCY, m.ACHIEVED_OCCUPANCY, m.STALLS, m.ISSUE_ACTIVE, *WAVES),
    uses=(m.REGISTERS, m.STATIC_SHARED, m.DYNAMIC_SHARED),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires below 60 % theoretical occupancy that is reached, with memory latency leading."""
    possible, reached, idle = k[m.THEORETICAL_OCCUPANCY], k[m.ACHIEVED_OCCUPANCY], idle_share(k)
    if k.stalls is None or idle is None or possible >= LOW or possible - reached > ACHIEVED_WITHIN:
        return None
    waiting = k.stalls.sum("long_scoreboard", "lg_throttle")
    if waiting < MIN_WAITING or ceilings.of_ceiling(Unit.TENSOR) >= TENSOR_WORK or _grid_is_short(k):
        return None
    bound = ceilings.bound({})
    more = 1 - max(possible, 1 / MAX_STEP * 0.5)
    limit = _limiter(k)
    return Cause(
        likely=min(bound.gain, more, idle) * waiting,
        bound=bound,
        level="supported" if k.stalls.trusted and k.stalls.leading == "long_scoreboard" else "indicated",
        message=f"{limit} limits it to {possible:.0%} of the warps an SM can hold while warps wait for memory",
        facts=(fact(k, m.THEORETICAL_OCCUPANCY), fact(k, m.ACHIEVED_OCCUPANCY), stall_fact(k, "long_scoreboard")),
        assumes=f"more warps hide the latency until {bound.ceiling} is full",
    )


def _grid_is_short(k: Readings) -> bool:
    """Whether the grid, not the limit, keeps the warps out."""
    return k[m.GRID_SIZE] < k[m.SM_COUNT] * blocks_an_sm(k)


def _limiter(k: Readings) -> str:
    limits = {
        "registers": k[m.LIMIT_REGISTERS],
        "shared memory": k[m.LIMIT_SHARED],
        "the block size": k[m.LIMIT_WARPS],
        "the number of blocks": k[m.LIMIT_BLOCKS],
    }
    return min(limits, key=lambda what: limits[what])


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Room for another block."""
    watch = "sm__warps_active.avg.pct_of_peak_sustained_active"
    smaller = "num_stages or BLOCK sizes one step down" if knobs.in_triton else "a smaller tile, fewer stages"
    return (
        Experiment(
            title="Make room for one more block an SM",
            change=f"Reduce {knobs.limit or 'the limiting resource'}: {knobs.registers} registers a thread, "
            f"{knobs.shared_bytes} bytes of shared memory a block ({smaller})",
            apply=("__launch_bounds__(threads, blocks_an_sm)", smaller),
            measure=measured(knobs, watch),
            refuted_if="occupancy rises and the kernel takes as long as before: the warps it had hid the latency",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
