"""Where a wait happened: claims grouped by NVTX path, API call, kernel and thread."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.findings import Place
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims

MAX_PLACES = 10
MAX_SPANS = 50


def places(timeline: Timeline, claims: Claims, owned_ns: Int64Array) -> tuple[Place, ...]:
    """The places that cost most, largest first."""
    rows = np.flatnonzero(owned_ns > 0)
    if not len(rows):
        return ()
    claims, owned_ns = claims.take(rows), owned_ns[rows]
    innermost, borrowed = timeline.ranges.at(claims.thread, claims.process, claims.time_ns)
    path = _path_ids(timeline, innermost)
    call = np.where(claims.call == NO_ROW, 0, timeline.calls.name[claims.call]) if len(timeline.calls) else path * 0
    kernel = np.where(claims.operation == NO_ROW, 0, timeline.operations.name[claims.operation])
    keys = np.stack((path, borrowed.astype(np.int64), call, kernel, claims.thread.astype(np.int64)))
    _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    group = group.ravel()
    total = np.bincount(group, weights=owned_ns).astype(np.int64)
    count = np.bincount(group)
    largest = np.lexsort((first, -total))[:MAX_PLACES]
    names = timeline.trace.names
    return tuple(
        Place(
            nvtx=tuple(names[n] for n in timeline.ranges.path(int(innermost[first[g]]))),
            nvtx_by="time" if borrowed[first[g]] else "thread",
            api=names[int(call[first[g]])] or None,
            kernel=names[int(kernel[first[g]])] or None,
            thread=None if claims.thread[first[g]] == NO_ROW else timeline.trace.threads[claims.thread[first[g]]].tid,
            count=int(count[g]),
            wait_ns=int(total[g]),
        )
        for g in largest
    )


def spans(claims: Claims, owned_ns: Int64Array) -> tuple[tuple[int, int], ...]:
    """The largest claimed spans in time order, for finding them in the Nsight GUI."""
    rows = np.flatnonzero(owned_ns > 0)
    rows = rows[np.argsort(-owned_ns[rows], kind="stable")][:MAX_SPANS]
    found = {(int(claims.start_ns[r]), int(claims.end_ns[r])) for r in rows}
    return tuple(sorted(found))


def _path_ids(timeline: Timeline, innermost: Int64Array) -> Int64Array:
    """A small integer for each distinct path (not each range instance)."""
    ids: dict[tuple[int, ...], int] = {(): 0}
    distinct, inverse = np.unique(innermost, return_inverse=True)
    known = np.array([ids.setdefault(timeline.ranges.path(int(r)), len(ids)) for r in distinct], np.int64)
    return known[inverse.ravel()]
