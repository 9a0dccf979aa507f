"""Scalar read-backs: a few bytes copied to the host and waited for, as `.item()` or `nonzero()` do."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Copies, CopyKind
from stallscope.timeline.calls import SYNCS, CallKind
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import View

SCALAR_BYTES = 64
FOLLOWS_NS = 20_000
"""The wait must begin this soon after the copy call returned."""


def scalar_calls(view: View) -> Int64Array:
    """Rows of the calls that wait for a scalar: blocking copies, and asynchronous ones with the sync right behind."""
    copies = view.find(Copies)
    if copies is None or not len(view.calls):
        return np.empty(0, np.int64)
    operations, calls = view.operations, view.calls
    rows = np.flatnonzero((operations.kind == OperationKind.COPY) & (view.launch != NO_ROW))
    small = (copies.kind == CopyKind.DEVICE_TO_HOST) & (copies.bytes <= SCALAR_BYTES)
    copy_calls = np.unique(view.launch[rows[small[operations.row[rows]]]])
    behind = _next_outer(view, copy_calls)
    followed = behind != NO_ROW
    waits = (
        followed
        & np.isin(calls.kind[behind], SYNCS)
        & (calls.thread[behind] == calls.thread[copy_calls])
        & (calls.start_ns[behind] - calls.end_ns[copy_calls] <= FOLLOWS_NS)
    )
    blocking = copy_calls[calls.kind[copy_calls] == CallKind.COPY_BLOCKING]
    return np.unique(np.concatenate((behind[waits], copy_calls[waits], blocking)))


def _next_outer(view: View, rows: Int64Array) -> Int64Array:
    """The outermost call behind each call in (thread, start) order, or NO_ROW at the end of the table."""
    outer, behind = view.calls.outer, rows + 1
    nested = np.flatnonzero(~outer[np.minimum(behind, len(outer) - 1)])
    while len(nested):  # as many rounds as calls stand in one
        behind[nested] += 1
        nested = nested[~outer[np.minimum(behind[nested], len(outer) - 1)] & (behind[nested] < len(outer))]
    return np.where(behind < len(outer), behind, NO_ROW)
