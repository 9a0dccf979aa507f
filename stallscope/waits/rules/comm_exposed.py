"""comm.exposed: communication kernels with no compute beside them."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import Kernels
from stallscope.model.experiments import Experiment
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_operations

META = RuleMeta(
    id="comm.exposed",
    title="Communication with no compute beside it",
    layer="busy",
    needs=(Kernels,),
)

EXPERIMENTS = (
    Experiment(
        title="Start collectives earlier and smaller",
        change="Smaller buckets start reducing while the backward pass still runs; prefetch shards one layer ahead",
        apply=("DistributedDataParallel(model, bucket_cap_mb=25)", "fully_shard(..., reshard_after_forward=True)"),
        measure=measure(),
        refuted_if="communication overlaps compute and the step takes as long",
        numerics="fp64-gate",
    ),
    Experiment(
        title="Let the hardware queue run both",
        change="A single hardware queue forces launch order: raise the number of connections",
        apply=("unset CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_DEVICE_MAX_CONNECTIONS=32"),
        measure=measure(),
        refuted_if="the collectives start at the same place as before",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim communication kernels; the ledger leaves them what no compute kernel covers."""
    operations = view.operations
    rows = np.flatnonzero(operations.kind == OperationKind.COMMUNICATION)
    if not len(rows):
        return None
    length = operations.end_ns[rows] - operations.start_ns[rows]
    return Detection(
        claims=claim_operations(view, rows),
        level="supported",
        assumes="independent compute exists to run beside it; a true dependency or a late peer makes this zero",
        low_ratio=0.0,
        facts=(
            Fact("communication kernels", len(rows), "count", Kernels),
            Fact("their time, overlapped or not", int(length.sum()), "ns", Kernels),
        ),
        caveats=(
            "One rank's trace cannot tell moving bytes from waiting for a late peer: analyze all ranks together.",
        ),
    )


RULE = Rule(META, detect, EXPERIMENTS)
