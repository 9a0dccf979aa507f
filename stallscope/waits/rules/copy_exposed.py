"""copy.exposed: copies that run while no kernel does."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import Copies
from stallscope.model.experiments import Experiment
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_operations

META = RuleMeta(id="copy.exposed", title="Copies with no kernel beside them", layer="busy", needs=(Copies,))

EXPERIMENTS = (
    Experiment(
        title="Issue the copy on a side stream, one step ahead",
        change="Move the copy off the compute stream and start it while the previous step computes; two buffers, "
        "guarded by events",
        apply=(
            "with torch.cuda.stream(side): nxt = batch.to('cuda', non_blocking=True)",
            "torch.cuda.current_stream().wait_stream(side); nxt.record_stream(torch.cuda.current_stream())",
        ),
        measure=measure(),
        refuted_if="copies overlap kernels and the step takes as long, or the copies alone fill the step (link-bound)",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim every copy; the ledger leaves this id what no kernel and no more specific copy rule covers."""
    copies, operations, launch = view[Copies], view.operations, view.launch
    rows = np.flatnonzero(operations.kind == OperationKind.COPY)
    if not len(rows):
        return None
    order = view.stream_order
    computing = np.bincount(order.of_row[operations.kind == OperationKind.COMPUTE], minlength=len(order.ids)) > 0
    shared = int(np.isin(order.stream(rows), order.ids[computing]).sum())
    moved = copies.bytes[operations.row[rows]]
    took = int((operations.end_ns[rows] - operations.start_ns[rows]).sum())
    return Detection(
        claims=claim_operations(view, rows),
        level="supported" if (launch[rows] >= 0).any() else "indicated",
        assumes="independent kernels exist to run beside the copies; a true dependency makes this zero",
        low_ratio=0.0,
        facts=(
            Fact("copies", len(rows), "count", Copies),
            Fact("of them on a stream that also runs kernels", shared, "count", Copies),
            Fact("bytes moved", int(moved.sum()), "bytes", Copies),
            Fact("their rate", float(moved.sum()) / max(took, 1) * 1e9, "bytes/s", Copies),
        ),
        caveats=("A copy on the stream of its kernels cannot overlap them, pinned or not.",) if shared else (),
    )


RULE = Rule(META, detect, EXPERIMENTS)
