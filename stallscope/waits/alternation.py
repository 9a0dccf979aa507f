"""Two streams that take turns: each waits for events of the other, and nothing on one ever runs beside the other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.intervals import Int64Array, union
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import View
from stallscope.waits.behind import MIN_WAIT_NS, follows, stream_ready_ns
from stallscope.waits.held import last_event_wait

MIN_HELD = 8
OVERLAP = 0.05
"""Streams of which at least this part runs side by side do not take turns."""


def taking_turns(view: View) -> tuple[Int64Array, Int64Array]:
    """Kernels held by an event behind a small kernel of another stream, and since when nothing else held them.

    Only pairs of streams that hold each other, at least MIN_HELD times each way, and never overlap; of each pair the
    kernels of the stream with less work, since running side by side saves no more than that.
    """
    row, front, ready = _held(view)
    stream = view.stream_order.of_row
    pair = np.stack((stream[front], stream[row]), axis=1)
    pairs, times = np.unique(pair, axis=0, return_counts=True)
    count = {(int(a), int(b)): int(n) for (a, b), n in zip(pairs, times, strict=True)}
    keep = np.zeros(len(row), np.bool_)
    for (one, other), n in count.items():
        if one > other or n < MIN_HELD or count.get((other, one), 0) < MIN_HELD:
            continue
        less = _with_less_work(view, one, other)
        if less is not None:
            keep |= ((pair == (one, other)).all(axis=1) | (pair == (other, one)).all(axis=1)) & (pair[:, 1] == less)
    return row[keep], ready[keep]


def small(view: View, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Kernels with fewer blocks than the device has SMs: another kernel would have fitted beside them."""
    operations = view.operations
    return np.asarray(view.blocks(rows) < view.multiprocessors[operations.device[rows]])


def _held(view: View) -> tuple[Int64Array, Int64Array, Int64Array]:
    operations, launch, order = view.operations, view.launch, view.stream_order
    rows = np.flatnonzero((operations.kind == OperationKind.COMPUTE) & (launch != NO_ROW) & ~view.from_graph)
    front, row = rows[:-1], rows[1:]
    near = follows(view, front, row) & (order.of_row[front] != order.of_row[row])
    near &= operations.process[front] == operations.process[row]
    front, row = front[near], row[near]
    both = small(view, front) & small(view, row)
    front, row = front[both], row[both]
    elder = order.predecessor[row]
    waited = last_event_wait(view, row)
    # The wait lies behind the stream's operation before, and what it can stand for was submitted before it.
    by_event = (waited > np.where(elder == NO_ROW, 0, view.launched_ns(elder))) & (view.launched_ns(front) < waited)
    ready = np.maximum(stream_ready_ns(view, row), operations.start_ns[front])
    by_event &= operations.start_ns[row] - ready >= MIN_WAIT_NS
    return row[by_event], front[by_event], ready[by_event]


def _with_less_work(view: View, one: int, other: int) -> int | None:
    """The stream with less work, or None when the two run side by side."""
    operations, stream = view.operations, view.stream_order.of_row
    spans = [
        union(operations.start_ns[mine], operations.end_ns[mine])
        for mine in (np.flatnonzero(stream == which) for which in (one, other))
    ]
    work = [span.total_ns() for span in spans]
    together = int(spans[0].covered(spans[1].starts, spans[1].ends).sum())
    if together > OVERLAP * min(work):
        return None
    return one if work[0] < work[1] else other
