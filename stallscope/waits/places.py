"""Where a wait happened: claims grouped by NVTX path, API call, kernel and thread."""

from __future__ import annotations

import numpy as np
import polars as pl

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Kernels
from stallscope.model.findings import Place
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims

MAX_PLACES = 10
MAX_SPANS = 50


def places(timeline: Timeline, claims: Claims, owned_ns: Int64Array) -> tuple[Place, ...]:
    """The places that cost most, largest first."""
    rows = np.flatnonzero(owned_ns > 0)
    owned_ns, thread = owned_ns[rows], claims.thread[rows]
    innermost, borrowed = timeline.ranges.at(thread, claims.process[rows], claims.time_ns[rows])
    keys = {
        "path": timeline.ranges.path_ids(innermost),
        "borrowed": borrowed,
        "call": _names(timeline.calls.name, claims.call[rows]),
        "kernel": _kernels(timeline, claims.operation[rows]),
        "thread": thread,
    }
    largest = (
        pl.DataFrame({**keys, "owned_ns": owned_ns, "range": innermost})
        .group_by(*keys)
        .agg(pl.col("owned_ns").sum(), pl.len().alias("count"), pl.col("range").min())
        .sort("owned_ns", "count", *keys, descending=[True, True, *[False] * len(keys)])
        .head(MAX_PLACES)
    )
    return tuple(_place(timeline, **row) for row in largest.iter_rows(named=True))


def _place(timeline: Timeline, **row: int) -> Place:
    names, threads = timeline.trace.names, timeline.trace.threads
    return Place(
        nvtx=tuple(names[n] for n in timeline.ranges.path(row["range"])),
        nvtx_by="time" if row["borrowed"] else "thread",
        api=names[row["call"]] or None,
        kernel=names[row["kernel"]] or None,
        thread=None if row["thread"] == NO_ROW else threads[row["thread"]].tid,
        count=row["count"],
        wait_ns=row["owned_ns"],
    )


def _names(names: np.ndarray[tuple[int], np.dtype[np.int32]], rows: Int64Array) -> Int64Array:
    """Name of each row, the empty one for NO_ROW."""
    if not len(names):
        return np.zeros(len(rows), np.int64)
    return np.where(rows == NO_ROW, 0, names[rows]).astype(np.int64)


def _kernels(timeline: Timeline, rows: Int64Array) -> Int64Array:
    """Complete kernel name of each operation, the empty one for NO_ROW and for what is no kernel."""
    complete = _names(timeline.operations.name, rows)
    kernels = timeline.trace.table(Kernels)
    if kernels is not None:
        ran = complete != 0
        complete[ran] = kernels.full_name[timeline.operations.row[rows[ran]]]
    return complete


def spans(claims: Claims, owned_ns: Int64Array) -> tuple[tuple[int, int], ...]:
    """The largest claimed spans in time order, for finding them in the Nsight GUI."""
    rows = np.flatnonzero(owned_ns > 0)
    if len(rows) > MAX_SPANS:
        rows = rows[np.argpartition(-owned_ns[rows], MAX_SPANS)[:MAX_SPANS]]
    found = {(int(claims.start_ns[r]), int(claims.end_ns[r])) for r in rows}
    return tuple(sorted(found))
