"""kernel.mem.uncoalesced: the lanes of a warp touch more 32-byte sectors than their bytes need.

Strides, records read field by field and misaligned rows move sectors of which only a part is used. Whether that costs
time depends on the unit that binds: L1 often merges the pieces, and DRAM moves each byte once all the same.
"""

from __future__ import annotations

from stallscope.kernels import metrics as m
from stallscope.kernels.base import Cause, Fact, KernelRule, KernelRuleMeta, Stage, fact, stall_fact, waste_worth
from stallscope.kernels.ceilings import Ceilings
from stallscope.kernels.proposals import measured
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.kernels.traffic import COALESCING_USES, coalescing_relief
from stallscope.model.experiments import Experiment

MIN_EXCESS = 0.10
META = KernelRuleMeta(
    id="kernel.mem.uncoalesced",
    title="Global accesses move sectors that are not used",
    stage=Stage.WASTE,
    needs=(m.THEORETICAL_SECTORS, m.IDEAL_SECTORS),
    uses=(m.STALLS, m.ISSUE_ACTIVE, *COALESCING_USES),
)


def diagnose(k: Readings, ceilings: Ceilings) -> Cause | None:
    """Fires when at least a tenth of the sectors asked for is excess."""
    asked, needed = k[m.THEORETICAL_SECTORS], k[m.IDEAL_SECTORS]
    excess = 1 - needed / asked if asked else 0.0
    if excess < MIN_EXCESS:
        return None
    worth = waste_worth(k, ceilings, coalescing_relief(k), ("long_scoreboard", "lg_throttle", "drain"))
    return Cause(
        likely=worth.likely,
        bound=worth.bound,
        level="supported" if worth.likely > 0.1 else "indicated",
        message=f"{excess:.0%} of the sectors it asks for carry no data it uses",
        facts=(
            fact(k, m.THEORETICAL_SECTORS, unit="count"),
            fact(k, m.IDEAL_SECTORS, unit="count"),
            Fact("excess sectors", excess, "ratio", m.THEORETICAL_SECTORS.metrics[0]),
            stall_fact(k, "long_scoreboard"),
        ),
        assumes="the lanes of a warp read neighbouring addresses after the change",
        caveats=("a gather through indices (embeddings, paged caches) may be inherent",),
    )


def propose(knobs: Knobs) -> tuple[Experiment, ...]:
    """Neighbouring lanes, neighbouring addresses."""
    watch = "memory_l2_theoretical_sectors_global"
    layout = (
        "make the axis of tl.arange the contiguous one (order, strides)"
        if knobs.in_triton
        else "threadIdx.x along the contiguous axis"
    )
    return (
        Experiment(
            title="Let neighbouring lanes read neighbouring addresses",
            change=f"Change the layout or the mapping: {layout}",
            apply=(
                ".contiguous() or channels_last (count the copy)",
                "structure of arrays instead of array of structures",
            ),
            measure=measured(knobs, watch),
            refuted_if="the excess sectors are gone and the kernel takes as long as before: caches had merged them",
            numerics="bit-identical",
        ),
        Experiment(
            title="Transpose through shared memory",
            change="Read coalesced into a padded shared tile, write coalesced from it",
            apply=("__shared__ float tile[32][33]",),
            measure=measured(knobs, watch),
            refuted_if="the excess sectors are gone and the kernel takes as long as before",
            numerics="bit-identical",
        ),
    )


RULE = KernelRule(META, diagnose, propose)
