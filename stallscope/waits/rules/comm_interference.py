"""comm.interference: compute kernels run slower beside communication kernels.

Communication takes SMs and memory bandwidth away. The same kernel (name, grid, block) takes a factor longer beside it.
"""

from __future__ import annotations

from stallscope.model.events import Kernels
from stallscope.model.experiments import Experiment
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.slowdown import Slowdown, claim_excess, slowdowns

MIN_INSTANCES = 4
MIN_RATIO = 1.15

META = RuleMeta(
    id="comm.interference",
    title="Compute runs slower beside communication",
    layer="kernel",
    needs=(Kernels,),
)

EXPERIMENTS = (
    Experiment(
        title="Give communication fewer SMs",
        change="Limit NCCL's thread blocks, or let copy engines move the data",
        apply=("NCCL_MAX_CTAS=4", "NCCL_CTA_POLICY=ZERO  # NCCL 2.29+"),
        measure=measure(),
        refuted_if="the kernels beside communication are as slow with fewer blocks (then bandwidth is shared, not SMs)",
        numerics="fp64-gate",
        effort="flag",
    ),
    Experiment(
        title="Overlap communication with compute-bound kernels",
        change="Move the collective beside the large matrix products instead of memory-bound kernels",
        apply=("DistributedDataParallel(model, bucket_cap_mb=100)",),
        measure=measure(),
        refuted_if="the collective moves and the sum of both takes as long",
        numerics="fp64-gate",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim what compute kernels beside communication take longer than the same kernels alone."""
    communicates = view.operations.kind == OperationKind.COMMUNICATION
    found: list[Slowdown] = []
    for window in view.windows:
        found += [s for s in slowdowns(view, communicates, window, MIN_INSTANCES) if s.ratio >= MIN_RATIO]
    if not found:
        return None
    return Detection(
        claims=claim_excess(view, found),
        level="supported",
        assumes="communication takes fewer SMs or runs beside kernels that need what it leaves; overlap itself stays",
        facts=(
            Fact("compute kernels beside communication", sum(len(s.beside) for s in found), "count", Kernels),
            Fact("median alone", found[0].alone_ns, "ns", Kernels),
            Fact("median beside communication", found[0].beside_ns, "ns", Kernels),
            Fact("times longer", round(found[0].ratio, 2), "ratio", Kernels),
        ),
    )


RULE = Rule(META, detect, EXPERIMENTS)
