"""kernel.latency.imbalance: some SMs work long after the others are done.

Blocks differ in the work they carry and were handed out in fixed shares, so the kernel waits for the longest.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact
from stallscope.kernels.ceilings import Bound, Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.waves import BALANCE, WAVES, tail_loss, unbalanced, waves_of
from stallscope.model.experiments import Experiment

MIN_LOSS = 0.10
EXPLAINED_BY_TAIL = 0.5
META = KernelRuleMeta(
    id="kernel.latency.imbalance",
    title="A few SMs work much longer than the rest",
    stage=Stage.PARALLELISM,
    needs=(m.SM_ACTIVE_AVG, m.SM_ACTIVE_MAX),
    uses=(*WAVES, *BALANCE),
    needs_ceilings=False,
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when the average SM is idle for a tenth of the longest one's time and the grid's geometry is not why."""
    loss = unbalanced(k) or 0.0
    if loss < MIN_LOSS or _by_geometry(k, loss):
        return None
    bound = ceilings.bound({}) if ceilings.utilisation else Bound(loss, "SMs")
    return Cause(
        likely=loss,
        bound=bound if bound.gain >= loss else Bound(loss, "SMs"),
        level="supported",
        message=f"the average SM works {1 - loss:.0%} of the longest one's time",
        facts=(
            fact(k, m.SM_ACTIVE_AVG, unit="count"),
            fact(k, m.SM_ACTIVE_MAX, unit="count"),
            Fact("SM activity below the longest", loss, "ratio", m.SM_ACTIVE_AVG.metrics[0]),
        ),
        assumes="the work of the long blocks can be spread",
    )


def _by_geometry(k: Readings, loss: float) -> bool:
    """Whether a grid smaller than the device or an unfilled last wave explains the imbalance."""
    if any(k.get(quantity) is None for quantity in WAVES):
        return False
    return k[m.GRID_SIZE] < k[m.SM_COUNT] or tail_loss(waves_of(k)) >= EXPLAINED_BY_TAIL * loss


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Spread the work."""
    return (
        Experiment(
            title="Interleave the work over the blocks",
            change="Give each block rows i, i + grid, i + 2·grid … instead of one contiguous share",
            apply=("for (row = blockIdx.x; row < rows; row += gridDim.x)",),
            measure=measured(knobs, "sm__cycles_active.max"),
            refuted_if="the SMs' active cycles are even and the kernel takes as long as before",
            numerics="bit-identical",
        ),
        Experiment(
            title="Hand out the work from a queue",
            change="Let blocks fetch the next item with an atomic counter, longest items first",
            apply=("item = atomicAdd(&queue, 1)",),
            measure=measured(knobs, "sm__cycles_active.max"),
            refuted_if="the SMs' active cycles are even and the kernel takes as long as before: one item is the whole "
            "tail",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
