"""Where a wait happened: claims grouped by NVTX path, API call, kernel and thread."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Kernels
from stallscope.model.findings import Place
from stallscope.timeline.calls import HostCalls
from stallscope.timeline.grouping import groups
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import RowArray, picked
from stallscope.timeline.side_by_side import side_by_side
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims

Int32Array = npt.NDArray[np.int32]

MAX_PLACES = 10
MAX_SPANS = 50
CLAIMS_AT_A_TIME = 500_000


def places(timeline: Timeline, claims: Claims, rows: RowArray, owned_ns: Int64Array) -> tuple[Place, ...]:
    """The places that cost most, largest first; the claims in these rows own so much."""
    found = _together(_parts(timeline, claims, rows, owned_ns))
    rank = max(len(found.waited) - MAX_PLACES, 0)
    largest = np.flatnonzero(found.waited >= np.partition(found.waited, rank)[rank])  # few: only these need an order
    ranked = (*(key[largest] for key in reversed(found.keys)), -found.counts[largest], -found.waited[largest])
    return tuple(
        _place(
            timeline,
            [int(found.innermost[k]), *(int(key[k]) for key in found.keys[1:])],
            int(found.counts[k]),
            int(found.waited[k]),
        )
        for k in largest[np.lexsort(ranked)[:MAX_PLACES]]
    )


class _Distinct(NamedTuple):
    """Distinct places in the order in which they first come: path, borrowed, call, kernel and thread are the keys."""

    innermost: RowArray
    keys: tuple[npt.NDArray[Any], ...]
    waited: Int64Array
    counts: Int64Array


def _parts(timeline: Timeline, claims: Claims, rows: RowArray, owned_ns: Int64Array) -> list[_Distinct]:
    """The places of some claims at a time: a large trace has millions, and all of their keys fill gigabytes."""
    names = ("thread", "process", "time_ns", "call", "operation")

    def distinct(begin: int) -> _Distinct:
        some = slice(begin, begin + CLAIMS_AT_A_TIME)
        part = rows[some]
        thread, process, time, call, operation = (claims.at(Claims.COLUMNS[name], part) for name in names)
        innermost, borrowed = timeline.ranges.at(thread, process, time)
        path = timeline.ranges.path_ids(innermost)
        keys = (path, borrowed, _names(timeline.calls, call), _kernels(timeline, operation), thread)
        same = groups(*keys)
        first = same.first
        return _Distinct(innermost[first], tuple(key[first] for key in keys), same.sums(owned_ns[some]), same.sizes())

    return side_by_side(timeline, distinct, range(0, len(rows), CLAIMS_AT_A_TIME))


def _together(parts: list[_Distinct]) -> _Distinct:
    if len(parts) == 1:
        return parts[0]
    keys = tuple(np.concatenate(column) for column in zip(*(part.keys for part in parts), strict=True))
    same = groups(*keys)
    innermost = np.concatenate([part.innermost for part in parts])
    waited, counts = np.concatenate([part.waited for part in parts]), np.concatenate([part.counts for part in parts])
    return _Distinct(
        innermost[same.first], tuple(key[same.first] for key in keys), same.sums(waited), same.sums(counts)
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


def _names(table: HostCalls | Operations, rows: RowArray) -> Int32Array:
    """Name of each row, the empty one for NO_ROW."""
    if not len(table):
        return np.zeros(len(rows), np.int32)
    found = table.at(type(table).name, np.maximum(rows, 0))
    found[rows == NO_ROW] = 0
    return found


def _kernels(timeline: Timeline, rows: RowArray) -> Int32Array:
    """Complete kernel name of each operation, the empty one for NO_ROW and for what is no kernel."""
    own = _names(timeline.operations, rows)
    kernels = timeline.trace.table(Kernels)
    if kernels is None or not len(kernels):
        return own
    source = np.minimum(picked(timeline.operations.row, np.maximum(rows, 0)), len(kernels) - 1)
    return np.where(own == 0, 0, kernels.at(Kernels.full_name, source))


def spans(claims: Claims, rows: RowArray, owned_ns: Int64Array) -> tuple[tuple[int, int], ...]:
    """Those of the claims in these rows that own most, in time order, for finding them in the Nsight GUI."""
    if len(rows) > MAX_SPANS:
        least = np.partition(owned_ns, -MAX_SPANS)[-MAX_SPANS]
        more = np.flatnonzero(owned_ns > least)
        rows = rows[np.concatenate((more, np.flatnonzero(owned_ns == least)[: MAX_SPANS - len(more)]))]
    starts, ends = claims.at(Claims.start_ns, rows), claims.at(Claims.end_ns, rows)
    return tuple(sorted(set(zip(starts.tolist(), ends.tolist(), strict=True))))
