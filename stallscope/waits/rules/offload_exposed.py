"""offload.exposed: weights or caches kept on the host are copied in, step by step, with nothing beside the copies."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import Copies, CopyKind, MemoryKind
from stallscope.model.experiments import Experiment
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_operations

MIN_BYTES = 1 << 20
MIN_REPEATS = 16
MIN_A_STEP = 4
"""Input batches are copied once or twice a step; layers that live on the host come in several copies a step."""

META = RuleMeta(
    id="offload.exposed",
    title="Offloaded data is copied in while the device waits",
    layer="busy",
    needs=(Copies,),
)

EXPERIMENTS = (
    Experiment(
        title="Prefetch the next layer while this one computes",
        change="Copy layer l+1 on a side stream into a second buffer while layer l computes; events guard the buffers",
        apply=("with torch.cuda.stream(side): buffers[(i + 1) % 2].copy_(host[i + 1], non_blocking=True)",),
        measure=measure(),
        refuted_if="copies overlap kernels and the step takes as long, or the copies alone fill the step (link-bound)",
        numerics="bit-identical",
    ),
    Experiment(
        title="Keep more of it on the device",
        change="Offload fewer layers, or quantise what is offloaded: fewer bytes cross the link",
        apply=("device_map with a larger GPU share", "8-bit or 4-bit weights"),
        measure=measure(),
        refuted_if="bytes copied a step fall and the step takes as long",
        numerics="fp64-gate",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim large pinned host-to-device copies that repeat in the same sizes, several in every step."""
    copies, operations = view[Copies], view.operations
    rows = np.flatnonzero(operations.kind == OperationKind.COPY)
    source = operations.row[rows]
    large = (
        (copies.kind[source] == CopyKind.HOST_TO_DEVICE)
        & (copies.source_kind[source] == MemoryKind.PINNED)
        & (copies.bytes[source] >= MIN_BYTES)
    )
    rows, size = rows[large], copies.bytes[source[large]]
    _, inverse, counts = np.unique(size, return_inverse=True, return_counts=True)
    repeated = counts[inverse.ravel()] >= MIN_REPEATS
    rows, size = rows[repeated], size[repeated]
    if not len(rows) or not _several_a_step(view, rows):
        return None
    took = int((operations.end_ns[rows] - operations.start_ns[rows]).sum())
    return Detection(
        claims=claim_operations(view, rows),
        level="indicated",
        assumes="the next copy runs beside the kernels of this layer; never less than bytes over link bandwidth",
        low_ratio=0.0,
        facts=(
            Fact("repeated copies from pinned host memory", len(rows), "count", Copies),
            Fact("distinct sizes", len(np.unique(size)), "count", Copies),
            Fact("bytes moved", int(size.sum()), "bytes", Copies),
            Fact("their rate", float(size.sum()) / max(took, 1) * 1e9, "bytes/s", Copies),
        ),
    )


def _several_a_step(view: View, rows: Int64Array) -> bool:
    steps = view.ranges.steps()
    return steps is None or len(rows) >= MIN_A_STEP * len(steps.starts)


RULE = Rule(META, detect, EXPERIMENTS)
