"""Which host call started which device operation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.calls import CallKind, HostCalls
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.native import TOO_WIDE, halves, sweeps, words
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import RowArray, picked

_DENSE_LIMIT = 8
"""Direct addressing pays while the range of correlation ids is at most this many times their count."""


def launch_rows(operations: Operations, calls: HostCalls) -> RowArray:
    """Row in `calls` of the call that launched each operation, or NO_ROW.

    Correlation ids are unique within a process only, so the key is (process, correlation). Id 0 means unknown. Where a
    driver call shares the id of the runtime call around it, the outer one is taken.
    """
    native = sweeps()
    if native is not None and len(calls) and len(operations):
        process = halves(calls.read("process"))
        highest = int(max(process.max(), operations.process.max())) + 1
        found = np.empty(len(operations), np.int32)
        # Nobody else asks for the ids of a large trace.
        wanted = halves(operations.process), words(operations.read("correlation")), len(operations)
        keys = process, words(calls.read("correlation")), len(calls)
        if native("launches", *keys, *wanted, highest, _DENSE_LIMIT, found) != TOO_WIDE:
            return found
    return _launch_rows(operations, calls)


def _launch_rows(operations: Operations, calls: HostCalls) -> RowArray:
    found = np.full(len(operations), NO_ROW, np.int32)
    caller = calls.read("process")
    for process in np.unique(operations.process):
        mine = np.flatnonzero((operations.process == process) & (operations.correlation > 0))
        rows = np.flatnonzero(caller == process)
        if len(mine) and len(rows):
            found[mine] = _match(calls.correlation[rows], rows, operations.correlation[mine])
    return found


def _match(keys: Int64Array, rows: npt.NDArray[np.intp], wanted: Int64Array) -> Int64Array:
    # Stable: on equal ids the first row (the outer call) wins.
    order = np.argsort(keys, kind="stable")
    position = np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)
    return np.where(keys[order][position] == wanted, rows[order][position], NO_ROW)


def from_graph(calls: HostCalls, launch: RowArray) -> npt.NDArray[np.bool_]:
    """Operations started by a graph launch (many share one call)."""
    if not len(calls):
        return np.zeros(len(launch), np.bool_)
    return np.asarray((launch != NO_ROW) & (picked(calls.kind, np.maximum(launch, 0)) == CallKind.GRAPH_LAUNCH))
