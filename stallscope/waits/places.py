"""Where a wait happened: claims grouped by NVTX path, API call, kernel and thread."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Kernels
from stallscope.model.findings import Place
from stallscope.timeline.grouping import groups
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.rows import RowArray, picked
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims

Int32Array = npt.NDArray[np.int32]

MAX_PLACES = 10
MAX_SPANS = 50


def places(timeline: Timeline, claims: Claims, owned_ns: Int64Array) -> tuple[Place, ...]:
    """The places that cost most, largest first."""
    rows = np.flatnonzero(owned_ns > 0)
    owned_ns, thread = owned_ns[rows], claims.read("thread")[rows]
    # Read, not kept: these are looked up for this alone.
    process, time, call, operation = (claims.read(name)[rows] for name in ("process", "time_ns", "call", "operation"))
    innermost, borrowed = timeline.ranges.at(thread, process, time)
    keys = (
        timeline.ranges.path_ids(innermost),
        borrowed,
        _names(timeline.calls.name, call),
        _kernels(timeline, operation),
        thread,
    )
    same = groups(*keys)
    waited, counts, first = same.sums(owned_ns), same.sizes(), same.first
    largest = np.flatnonzero(waited >= np.sort(waited)[-MAX_PLACES:][0])  # few: only these need their keys in order
    ranked = (*(key[first[largest]] for key in reversed(keys)), -counts[largest], -waited[largest])
    largest = largest[np.lexsort(ranked)[:MAX_PLACES]]
    return tuple(
        _place(timeline, [int(key[first[k]]) for key in (innermost, *keys[1:])], int(counts[k]), int(waited[k]))
        for k in largest
    )


def _place(timeline: Timeline, key: list[int], count: int, wait_ns: int) -> Place:
    names, threads = timeline.trace.names, timeline.trace.threads
    innermost, borrowed, call, kernel, thread = key
    return Place(
        nvtx=tuple(names[n] for n in timeline.ranges.path(innermost)),
        nvtx_by="time" if borrowed else "thread",
        api=names[call] or None,
        kernel=names[kernel] or None,
        thread=None if thread == NO_ROW else threads[thread].tid,
        count=count,
        wait_ns=wait_ns,
    )


def _names(names: Int32Array, rows: RowArray) -> Int32Array:
    """Name of each row, the empty one for NO_ROW."""
    if not len(names):
        return np.zeros(len(rows), np.int32)
    found = picked(names, np.maximum(rows, 0))
    found[rows == NO_ROW] = 0
    return found


def _kernels(timeline: Timeline, rows: RowArray) -> Int32Array:
    """Complete kernel name of each operation, the empty one for NO_ROW and for what is no kernel."""
    own = _names(timeline.operations.name, rows)
    kernels = timeline.trace.table(Kernels)
    if kernels is None or not len(kernels):
        return own
    source = np.minimum(picked(timeline.operations.row, np.maximum(rows, 0)), len(kernels) - 1)
    return np.where(own == 0, 0, picked(kernels.full_name, source))


def spans(claims: Claims, owned_ns: Int64Array) -> tuple[tuple[int, int], ...]:
    """The largest claimed spans in time order, for finding them in the Nsight GUI."""
    rows = np.flatnonzero(owned_ns > 0)
    if len(rows) > MAX_SPANS:
        rows = rows[np.argpartition(-owned_ns[rows], MAX_SPANS)[:MAX_SPANS]]
    found = {(int(claims.start_ns[r]), int(claims.end_ns[r])) for r in rows}
    return tuple(sorted(found))
