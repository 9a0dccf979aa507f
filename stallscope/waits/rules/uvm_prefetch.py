"""uvm.prefetch: queued work waits for a prefetch of managed memory that was asked for just before it."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, Kernels, MigrationCause, Migrations
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.timeline.gaps import Gaps, held_from
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.held import called_between, claim_held

BEHIND_NS = 100_000
"""So soon after the last page has moved the held operation begins (10 µs on an H200)."""

META = RuleMeta(
    id="uvm.prefetch",
    title="Queued work waits for a prefetch of managed memory",
    layer="idle",
    needs=(ApiCalls, Kernels, Migrations),
)

EXPERIMENTS = (
    Experiment(
        title="Prefetch one step ahead, on a stream of its own",
        change="Prefetch the next step's pages on a side stream before this step's kernels; an event guards them",
        apply=(
            "cudaMemPrefetchAsync(next, bytes, device_location, 0, side); cudaEventRecord(ready, side);",
            "cudaStreamWaitEvent(stream, ready, 0);  // one step later",
        ),
        measure=measure("-- ./program"),
        refuted_if="the pages move beside kernels and the step takes as long, or moving them alone fills the step",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim gaps before queued operations behind a prefetch call of their stream, whose pages moved in the gap."""
    held = view.held_gaps
    if not len(held):
        return None
    asked = called_between(view, view.calls.kind == CallKind.PREFETCH)
    held = held[asked[view.gaps.after[held]]]
    moved = _moved_last(view, held)
    held = held[moved >= 0]
    if not len(held):
        return None
    table = view[Migrations]
    prefetched = np.flatnonzero(table.cause == MigrationCause.USER_PREFETCH)
    return Detection(
        claims=claim_held(view, held),
        level="supported",
        assumes="other work is there to run while the pages move",
        low_ratio=0.0,
        facts=(
            Fact("queued operations held behind a prefetch", len(held), "count", ApiCalls),
            Fact("prefetched pieces", len(prefetched), "count", Migrations),
            Fact("bytes prefetched", int(table.bytes[prefetched].sum()), "bytes", Migrations),
        ),
    )


def _moved_last(view: View, held: Int64Array) -> Int64Array:
    """For each gap the prefetched piece that moved last in it, shortly before its end; -1 where there is none."""
    gaps, table = view.gaps, view[Migrations]
    rows = np.flatnonzero(table.cause == MigrationCause.USER_PREFETCH)
    rows = rows[np.argsort(table.end_ns[rows], kind="stable")]
    found = np.full(len(held), -1, np.int64)
    since = held_from(view.gaps, held)
    for window in view.windows:
        mine = np.flatnonzero(gaps.at(Gaps.device, held) == window.device)
        pieces = rows[table.device[rows] == window.device]
        if not len(mine) or not len(pieces):
            continue
        end = gaps.at(Gaps.end_ns, held[mine])
        last = np.searchsorted(table.end_ns[pieces], end, side="right") - 1
        piece = pieces[np.maximum(last, 0)]
        moved = (last >= 0) & (table.start_ns[piece] >= since[mine]) & (end - table.end_ns[piece] <= BEHIND_NS)
        found[mine[moved]] = piece[moved]
    return found


RULE = Rule(META, detect, EXPERIMENTS)
