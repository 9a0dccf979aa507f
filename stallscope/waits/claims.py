"""Claims on idle gaps and on operations, with what stands beside them: launch, thread, process."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, chosen
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.rows import Found, RowArray, picked
from stallscope.waits.base import Claims, View


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
    begin, end = (side.at if isinstance(side, Found) else side.__getitem__ for side in (starts, ends))
    return Claims.lazily(
        len(rows),
        start_ns=starts,
        end_ns=ends,
        device=Found(lambda some: gaps.at(Gaps.device, chosen(rows, some))),
        process=Found(lambda some: picked(process, picked(gaps.after, chosen(rows, some)))),
        call=Found(lambda some: gaps.at(Gaps.launch, chosen(rows, some))) if call is None else call,
        operation=Found(lambda some: picked(gaps.after, chosen(rows, some))),
        thread=Found(lambda some: picked(gaps.thread, chosen(rows, some))),
        time_ns=Found(lambda some: (begin(some) + end(some)) // 2),
    )


def claim_whole_gaps(view: View, gap: npt.NDArray[np.intp] | RowArray) -> Claims:
    """Claims on gaps from end to end."""
    gaps, rows = view.gaps, gap.astype(np.int32)
    return claim_gaps(
        view,
        rows,
        Found(lambda some: gaps.at(Gaps.start_ns, chosen(rows, some))),
        Found(lambda some: gaps.at(Gaps.end_ns, chosen(rows, some))),
    )


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
