"""copy.pageable: copies from or to pageable memory, with nothing beside them.

The driver stages such a copy through a pinned buffer: the host blocks, the copy runs at a fraction of the link's
speed, and no other work can be submitted beside it.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import Copies, MemoryKind
from stallscope.model.experiments import Experiment
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_operations

META = RuleMeta(
    id="copy.pageable",
    title="Copies from or to pageable host memory",
    layer="busy",
    needs=(Copies,),
)

EXPERIMENTS = (
    Experiment(
        title="Pin the host memory, copy asynchronously, copy the next batch early",
        change="All three together: pinned buffers, non_blocking=True on a side stream, and the copy issued one step "
        "ahead. Pinning alone only makes the copy faster; it hides nothing",
        apply=(
            "DataLoader(..., pin_memory=True, persistent_workers=True)",
            "with torch.cuda.stream(side): nxt = batch.to('cuda', non_blocking=True)",
            "torch.cuda.current_stream().wait_stream(side); nxt.record_stream(torch.cuda.current_stream())",
        ),
        measure=measure(),
        refuted_if="the copies show pinned memory and the step takes as long (then they were not on the path)",
        numerics="bit-identical",
    ),
    Experiment(
        title="Allocate the staging buffer once with cudaHostAlloc",
        change="Copy from a pinned buffer that lives as long as the program; never pin inside the loop",
        apply=("cudaHostAlloc(&p, bytes, cudaHostAllocDefault); cudaMemcpyAsync(d, p, bytes, kind, side);",),
        measure=measure("-- ./program"),
        refuted_if="bandwidth of the copies does not rise",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim pageable copies; the ledger leaves them what no kernel covers."""
    copies, operations = view[Copies], view.operations
    pageable = (copies.source_kind == MemoryKind.PAGEABLE) | (copies.target_kind == MemoryKind.PAGEABLE)
    rows = np.flatnonzero(operations.kind == OperationKind.COPY)
    rows = rows[pageable[operations.row[rows]]]
    if not len(rows):
        return None
    moved = int(copies.bytes[operations.row[rows]].sum())
    took = int((operations.end_ns[rows] - operations.start_ns[rows]).sum())
    return Detection(
        claims=claim_operations(view, rows),
        level="supported",
        assumes="the copies come from pinned memory and run beside kernels; at the least they run at the pinned rate",
        facts=(
            Fact("copies with a pageable side", len(rows), "count", Copies),
            Fact("bytes they moved", moved, "bytes", Copies),
            Fact("their rate", moved / max(took, 1) * 1e9, "bytes/s", Copies),
        ),
        caveats=("One-time uploads at the start are worth little in a long run; restrict with --nvtx or --range.",),
    )


RULE = Rule(META, detect, EXPERIMENTS)
