"""launch.queue_full: launch calls block because the device is behind. The device is the limit, not the launches."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, OverheadKind, Overheads
from stallscope.timeline.calls import LAUNCHES
from stallscope.timeline.intervals import is_one_of
from stallscope.timeline.rows import RowArray
from stallscope.waits.base import Claims, Detection, Fact, Rule, RuleMeta, View
from stallscope.waits.loading import overhead_rows

LONG_NS = 100_000
TIMES_MEDIAN = 10
BUSY_SHARE = 0.95

META = RuleMeta(
    id="launch.queue_full",
    title="Launch calls block on a full queue: the device is the limit",
    layer="note",
    needs=(ApiCalls,),
    uses=(Overheads,),
    severity="note",
)


def detect(view: View) -> Detection | None:
    """Note launch calls far longer than the median during which the device worked all the time."""
    calls, operations = view.calls, view.operations
    launches = is_one_of(calls.kind, LAUNCHES)
    took = calls.end_ns - calls.start_ns
    long_calls = launches & (took >= LONG_NS)
    if not long_calls.any():
        return None
    long_calls &= took >= TIMES_MEDIAN * float(np.median(took[launches]))
    rows = np.flatnonzero((view.launch != NO_ROW) & long_calls[view.launch])
    call, first = np.unique(view.launch[rows], return_index=True)
    operation, length = rows[first], took[call]
    busy = np.zeros(len(call), np.int64)
    for window in view.windows:
        mine = operations.device[operation] == window.device
        busy[mine] = window.busy.covered(calls.start_ns[call[mine]], calls.end_ns[call[mine]])
    full = np.flatnonzero(busy >= BUSY_SHARE * length)
    if not len(full):
        return None
    return _note(view, call[full], operation[full])


def _note(view: View, call: RowArray, operation: npt.NDArray[np.intp]) -> Detection:
    calls, operations = view.calls, view.operations
    facts = [
        Fact("launch calls that blocked while the device was busy", len(call), "count", ApiCalls),
        Fact("longest of them", int((calls.end_ns[call] - calls.start_ns[call]).max()), "ns", ApiCalls),
    ]
    recorded = overhead_rows(view, OverheadKind.COMMAND_BUFFER_FULL)
    if len(recorded):
        facts.append(Fact("'command buffer full' records", len(recorded), "count", Overheads))
    return Detection(
        claims=Claims.of(
            start_ns=calls.start_ns[call],
            end_ns=calls.end_ns[call],
            device=operations.device[operation],
            process=operations.process[operation],
            call=call,
            operation=operation,
            thread=calls.thread[call],
            time_ns=calls.start_ns[call],
        ),
        level="supported" if len(recorded) else "indicated",
        assumes="nothing to gain on the host: make the kernels faster",
        facts=tuple(facts),
    )


RULE = Rule(META, detect)
