"""Claims on idle gaps and on operations, with what stands beside them: launch, thread, process."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Column, chosen
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.rows import Found, Picked, RowArray, picked
from stallscope.waits.base import Claims, View

T = TypeVar("T", bound=np.generic)


def claim_gaps(
    view: View,
    gap: npt.NDArray[np.intp] | RowArray,
    starts: Int64Array | Found[np.int64],
    ends: Int64Array | Found[np.int64],
    call: RowArray | None = None,
) -> Claims:
    """Claims on parts of gaps: one row a (gap, start, end); the blamed call defaults to the successor's launch.

    They are many: what only the finding asks for is looked up then.
    """
    gaps, process = view.gaps, view.operations.process
    rows = gap.astype(np.int32)
    operation = Picked(gaps.after, rows)
    begin, end = (side.at if isinstance(side, Found) else side.__getitem__ for side in (starts, ends))
    return Claims.lazily(
        len(rows),
        start_ns=starts,
        end_ns=ends,
        device=_of_gaps(gaps, Gaps.device, rows),
        process=Found(lambda some: picked(process, operation.at(some))),
        call=_of_gaps(gaps, Gaps.launch, rows) if call is None else call,
        operation=operation,
        thread=Picked(gaps.thread, rows),
        time_ns=Found(lambda some: (begin(some) + end(some)) // 2),
    )


def claim_whole_gaps(view: View, gap: npt.NDArray[np.intp] | RowArray) -> Claims:
    """Claims on gaps from end to end."""
    gaps, rows = view.gaps, gap.astype(np.int32)
    return claim_gaps(view, rows, _of_gaps(gaps, Gaps.start_ns, rows), _of_gaps(gaps, Gaps.end_ns, rows))


def _of_gaps(gaps: Gaps, column: Column[T], rows: RowArray) -> Found[T]:
    return Found(lambda some: gaps.at(column, chosen(rows, some)))


def claim_operations(view: View, rows: npt.NDArray[np.intp] | Int64Array) -> Claims:
    """Claims on whole operations, placed where they were launched."""
    operations, calls = view.operations, view.calls
    launch = view.launch[rows]
    known = launch != NO_ROW
    row = np.maximum(launch, 0)
    start = operations.start_ns[rows]
    none = np.full(len(rows), NO_ROW, np.int32)
    return Claims.of(
        start_ns=start,
        end_ns=operations.end_ns[rows],
        device=operations.device[rows],
        process=operations.process[rows],
        call=launch,
        operation=rows,
        thread=np.where(known, calls.thread[row], none) if len(calls) else none,
        time_ns=np.where(known, calls.start_ns[row], start) if len(calls) else start,
    )
