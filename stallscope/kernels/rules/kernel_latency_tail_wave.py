"""kernel.latency.tail_wave: the last wave of blocks fills a small part of the device.

w = blocks / (SMs × blocks an SM). Uniform blocks take ceil(w) rounds for w rounds of work, so 1 − w/ceil(w) of the time
is lost; NVIDIA's rule says 1/(floor(w)+1), which is five to nine times as much when the last wave is nearly full.
"""

from __future__ import annotations

import math

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact
from stallscope.kernels.ceilings import Bound, Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.waves import BALANCE, WAVES, tail_loss, unbalanced, waves_of
from stallscope.model.experiments import Experiment

MIN_LOSS = 0.10
MEASURED_PART = 0.4
"""The SMs' own active cycles must show at least this part of the loss; blocks of unequal length blur the last wave."""
META = KernelRuleMeta(
    id="kernel.latency.tail_wave",
    title="The last wave of blocks leaves most SMs idle",
    stage=Stage.PARALLELISM,
    needs=WAVES,
    uses=BALANCE,
    needs_ceilings=False,
)


def diagnose(k: Readings, _ceilings: Ceilings) -> Cause | None:
    """Fires when the geometry loses at least a tenth and the SMs' active cycles agree."""
    waves = waves_of(k)
    loss = tail_loss(waves)
    measured = unbalanced(k)
    if loss < MIN_LOSS or (measured is not None and measured < MEASURED_PART * loss):
        return None
    likely = loss if measured is None else min(loss, measured * 1.05)
    facts = [Fact("waves", waves, "ratio", m.WAVES.metrics[0]), fact(k, m.GRID_SIZE, unit="count")]
    if measured is not None:
        facts.append(Fact("SM activity below the longest", measured, "ratio", m.SM_ACTIVE_AVG.metrics[0]))
    return Cause(
        likely=likely,
        bound=Bound(min(0.99, loss + 0.02), "blocks an SM"),
        level="indicated" if measured is None else "supported",
        message=f"{waves:.2f} waves: the last of {math.ceil(waves)} rounds is only {waves % 1:.0%} full",
        facts=tuple(facts),
        assumes="blocks take equally long",
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """A grid that divides evenly, or blocks that fetch their own work."""
    tile = "BLOCK_M/BLOCK_N" if knobs.in_triton else "the tile"
    return (
        Experiment(
            title="Change the tile so that the waves come out even",
            change=f"Choose {tile} (or blocks an SM) so that blocks / (SMs × blocks an SM) is just below a whole "
            "number",
            apply=(f"{tile} one step smaller or larger", "more blocks an SM: fewer registers, less shared memory"),
            measure=measured(knobs, "sm__cycles_active.avg"),
            refuted_if="the waves are even and the kernel takes as long as before: the blocks are not uniform",
            numerics="fp64-gate",
        ),
        Experiment(
            title="Make the kernel persistent",
            change="Launch SMs × blocks an SM once and let each block loop over tiles (stream-K for matrix products)",
            apply=("grid = SMs × blocks an SM", "for tile in range(block, tiles, grid)"),
            measure=measured(knobs, "launch__waves_per_multiprocessor"),
            refuted_if="one wave remains and the kernel takes as long as before",
            effort="rewrite",
            numerics="fp64-gate",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
