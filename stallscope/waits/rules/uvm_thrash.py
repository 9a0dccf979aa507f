"""uvm.thrash: the same managed pages go back and forth between host and device."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import CopyKind, Kernels, Migrations
from stallscope.model.experiments import Experiment
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.unified_memory import EXPLICIT, ON_DEMAND, claim_migrations, migrations

BLOCK_BYTES = 2 << 20
"""The driver manages unified memory in 2 MiB blocks."""
ROUND_TRIPS = 4
"""A block that moved both ways this often is thrashing; fewer are phases of a program."""
BURST_NS = 1_000_000
"""Migrations of one block closer than this are one move of it."""

META = RuleMeta(
    id="uvm.thrash",
    title="Managed pages bounce between host and device",
    layer="kernel",
    needs=(Kernels, Migrations),
)

EXPERIMENTS = (
    Experiment(
        title="Give the pages one home",
        change="Prefer the host and map the device to it (or the reverse), so that nothing migrates",
        apply=(
            "cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, cudaMemLocation{cudaMemLocationTypeHost, 0});",
            "cudaMemAdvise(p, bytes, cudaMemAdviseSetAccessedBy, cudaMemLocation{cudaMemLocationTypeDevice, 0});",
        ),
        measure=measure("-- ./program"),
        refuted_if="no page-fault migration is left and the step takes as long (remote access then costs as much)",
        numerics="bit-identical",
    ),
    EXPLICIT,
)


def detect(view: View) -> Detection | None:
    """Claim kernel time under migrations of blocks that made at least ROUND_TRIPS round trips."""
    moved = view[Migrations]
    up = migrations(view, CopyKind.HOST_TO_DEVICE, ON_DEMAND)
    down = migrations(view, CopyKind.DEVICE_TO_HOST, ON_DEMAND)
    bouncing = np.intersect1d(_repeated(moved, up), _repeated(moved, down))
    bouncing = bouncing[bouncing > 0]
    if not len(bouncing):
        return None
    rows = up[np.isin(moved.address[up] // BLOCK_BYTES, bouncing)]
    claims = claim_migrations(view, rows)
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported",
        assumes="the pages stay in one place, or each side works on a copy of its own",
        facts=(
            Fact("2 MiB blocks that bounce", len(bouncing), "count", Migrations),
            Fact("bytes moved to the device for them", int(moved.bytes[rows].sum()), "bytes", Migrations),
        ),
    )


def _repeated(moved: Migrations, rows: Int64Array) -> Int64Array:
    """Blocks that moved in this direction in at least ROUND_TRIPS separate bursts of one block each."""
    block = moved.address[rows] // BLOCK_BYTES
    order = np.lexsort((moved.start_ns[rows], block))
    ordered, start = block[order], moved.start_ns[rows][order]
    apart = np.concatenate((np.ones(1, np.bool_), (np.diff(ordered) != 0) | (np.diff(start) > BURST_NS)))
    bursts, counts = np.unique(ordered[apart[: len(ordered)]], return_counts=True)
    return bursts[counts >= ROUND_TRIPS]


RULE = Rule(META, detect, EXPERIMENTS)
