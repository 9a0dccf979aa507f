"""What the unified-memory rules share: migrations of one direction and cause, and kernels as one set a device."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.events import CopyKind, MigrationCause, Migrations
from stallscope.model.experiments import Experiment
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array, IntervalSet, union
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Claims, View, measure
from stallscope.waits.claims import claim_operations
from stallscope.waits.hostspans import cut

ON_DEMAND = (MigrationCause.PAGE_FAULT, MigrationCause.SPECULATIVE)
"""Causes of moves nobody asked for; the driver's speculative ones are part of serving a fault."""

PREFETCH = Experiment(
    title="Prefetch before the kernel",
    change="Move the pages with one asynchronous call on the kernel's stream before the launch",
    apply=(
        "cudaMemPrefetchAsync(p, bytes, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, stream);",
        "cudaMemAdvise(p, bytes, cudaMemAdviseSetPreferredLocation, cudaMemLocation{cudaMemLocationTypeDevice, 0});",
    ),
    measure=measure("-- ./program"),
    refuted_if="no page-fault migration is left inside the kernel and it takes as long",
    numerics="bit-identical",
)

EXPLICIT = Experiment(
    title="Keep two explicit copies instead of one managed one",
    change="Pinned host memory and device memory with asynchronous copies, for data that both sides write",
    apply=("cudaHostAlloc(&h, bytes, 0); cudaMalloc(&d, bytes); cudaMemcpyAsync(d, h, bytes, kind, stream);",),
    measure=measure("-- ./program"),
    refuted_if="the copies take as long as the faults did",
    numerics="bit-identical",
    effort="rewrite",
)


def migrations(view: View, kind: CopyKind, causes: tuple[MigrationCause, ...]) -> Int64Array:
    """Rows of the migrations in one direction with one of the causes."""
    table = view[Migrations]
    return np.flatnonzero((table.kind == kind) & np.isin(table.cause, causes))


def claim_in_kernels(view: View, device: int, spans: IntervalSet) -> Claims:
    """Claims on the parts of a device's kernels that the spans cover, placed at the kernel's launch."""
    operations = view.operations
    rows = np.flatnonzero((operations.device == device) & (operations.kind == OperationKind.COMPUTE))
    row, start, end = cut(operations.start_ns[rows], operations.end_ns[rows], spans)
    return claim_operations(view, rows[row]).between(start, end)


def claim_migrations(view: View, rows: Int64Array) -> Claims:
    """Claims on kernel time of every device under these rows of Migrations."""
    moved = view[Migrations]
    return Claims.joined(
        claim_in_kernels(view, w.device, union(moved.start_ns[mine], moved.end_ns[mine]))
        for w in view.windows
        if len(mine := rows[moved.device[rows] == w.device])
    )


def claim_idle(view: View, device: int, spans: IntervalSet) -> Claims:
    """Claims on the host parts of a device's gaps that the spans cover."""
    gaps = view.gaps
    rows = np.flatnonzero(gaps.read("device") == device)
    row, start, end = cut(gaps.at(Gaps.start_ns, rows), gaps.at(Gaps.host_end_ns, rows), spans)
    gap = rows[row]
    none = np.full(len(gap), NO_ROW)
    return Claims.of(
        start_ns=start,
        end_ns=end,
        device=np.full(len(gap), device),
        process=view.operations.process[gaps.after[gap]],
        call=none,
        operation=gaps.after[gap],
        thread=gaps.thread[gap],
        time_ns=(start + end) // 2,
    )


def clusters(times: Int64Array, apart_ns: int) -> IntervalSet:
    """From each time to the next where they are at most `apart_ns` apart."""
    times = np.sort(times)
    close = np.diff(times) <= apart_ns
    return union(times[:-1][close], times[1:][close])
