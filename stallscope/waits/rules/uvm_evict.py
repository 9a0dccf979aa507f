"""uvm.evict: the device's memory is oversubscribed and managed pages are evicted to the host."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import CopyKind, Kernels, MigrationCause, Migrations
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.unified_memory import claim_migrations, migrations

META = RuleMeta(
    id="uvm.evict",
    title="Managed memory does not fit: pages are evicted while kernels run",
    layer="kernel",
    needs=(Kernels, Migrations),
)

EXPERIMENTS = (
    Experiment(
        title="Make the working set fit",
        change="Smaller batch, quantised cache, or explicit tiling of what is resident",
        apply=("nvidia-smi --query-gpu=memory.used,memory.total --format=csv",),
        measure=measure(),
        refuted_if="no eviction is left and the step takes as long",
        numerics="fp64-gate",
        effort="rewrite",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim kernel time under evictions."""
    moved = view[Migrations]
    rows = migrations(view, CopyKind.DEVICE_TO_HOST, (MigrationCause.EVICTION,))
    claims = claim_migrations(view, rows)
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported",
        assumes="the working set fits the device",
        facts=(
            Fact("evictions", len(rows), "count", Migrations),
            Fact("bytes evicted", int(moved.bytes[rows].sum()), "bytes", Migrations),
            Fact("distinct 2 MiB blocks", len(np.unique(moved.address[rows] >> 21)), "count", Migrations),
        ),
    )


RULE = Rule(META, detect, EXPERIMENTS)
