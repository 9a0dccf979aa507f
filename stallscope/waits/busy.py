"""The busy part of the ledger that is no wait: compute and memsets."""

from __future__ import annotations

from functools import partial

from stallscope.timeline.intervals import IntervalSet, is_one_of, union
from stallscope.timeline.operations import OperationKind, Operations
from stallscope.timeline.timeline import Timeline
from stallscope.timeline.windows import DeviceWindow
from stallscope.waits.ledger import Work

_OK = {
    "ok.compute": (OperationKind.COMPUTE, OperationKind.GRAPH),
    "ok.memset": (OperationKind.MEMSET,),
}


def ok_time(timeline: Timeline) -> dict[str, Work]:
    """When a device computed (whole graph runs count as compute) and when it set memory."""
    return {wait: partial(_of_kinds, timeline.operations, kinds) for wait, kinds in _OK.items()}


def _of_kinds(operations: Operations, kinds: tuple[OperationKind, ...], window: DeviceWindow) -> IntervalSet:
    rows = slice(window.first, window.after)
    wanted = is_one_of(operations.kind[rows], kinds)
    return union(operations.start_ns[rows][wanted], operations.end_ns[rows][wanted])
