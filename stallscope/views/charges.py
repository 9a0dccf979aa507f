"""Every charge of the ledgers as a row: when, where, to which id, between which operations, under which ranges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.calls import ThreadClock
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import IntervalSet
from stallscope.timeline.operations import OperationKind, Operations
from stallscope.timeline.timeline import Timeline

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]

_BUSY_KINDS = {"comm": OperationKind.COMMUNICATION, "copy": OperationKind.COPY, "offload": OperationKind.COPY}


@dataclass(frozen=True, slots=True)
class Charges:
    """The account of every device, sorted by (device, start); the rows of a device tile its window.

    `wait` indexes `ids`, `device` indexes the trace's devices, `before` and `after` are rows of Operations (the
    neighbours of an idle gap; for busy time only `after`, the operation that runs), `call` of HostCalls (the launch of
    `after`), `thread` of the trace's threads, `path` of `paths` (NVTX, "step / layer"); NO_ROW where it is unknown.
    `host_ns` is the part before that launch call began, `outside_ns` the longest time of it that the thread spent
    outside any API call.
    """

    ids: tuple[str, ...]
    paths: tuple[str, ...]
    wait: Int32Array
    device: Int32Array
    start_ns: Int64Array
    end_ns: Int64Array
    before: Int64Array
    after: Int64Array
    call: Int64Array
    thread: Int32Array
    path: Int32Array
    host_ns: Int64Array
    outside_ns: Int64Array

    def __len__(self) -> int:
        return len(self.start_ns)


def charges_of(timeline: Timeline, charged: Mapping[int, Mapping[str, IntervalSet]]) -> Charges:
    """Lay the settled charges (device → id → intervals) out as rows and look up what stands around each."""
    ids = tuple(sorted({wait for account in charged.values() for wait in account}))
    wait, device, start, end = _rows(ids, charged)
    before, after, host, outside = _neighbours(timeline, device, start, end)
    running = after == NO_ROW
    after[running] = _running(timeline.operations, ids, wait[running], device[running], start[running])
    call = np.where(after == NO_ROW, NO_ROW, timeline.launch[after]) if len(timeline.operations) else after
    thread = timeline.launch_thread(np.maximum(after, 0)) if len(timeline.operations) else device * 0 + NO_ROW
    thread = np.where(after == NO_ROW, NO_ROW, thread).astype(np.int32)
    paths, path = _paths(timeline, after, thread, (start + end) // 2)
    return Charges(ids, paths, wait, device, start, end, before, after, call, thread, path, host, outside)


def _rows(
    ids: tuple[str, ...], charged: Mapping[int, Mapping[str, IntervalSet]]
) -> tuple[Int32Array, Int32Array, Int64Array, Int64Array]:
    sets = [(d, ids.index(w), spans) for d, account in charged.items() for w, spans in account.items()]
    lengths = [len(spans.starts) for _, _, spans in sets]
    device = np.repeat(np.array([d for d, _, _ in sets], np.int32), lengths)
    wait = np.repeat(np.array([w for _, w, _ in sets], np.int32), lengths)
    start = np.concatenate([np.empty(0, np.int64), *(spans.starts for _, _, spans in sets)])
    end = np.concatenate([np.empty(0, np.int64), *(spans.ends for _, _, spans in sets)])
    order = np.lexsort((start, device))
    return wait[order], device[order], start[order], end[order]


def _neighbours(
    timeline: Timeline, device: Int32Array, start: Int64Array, end: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Operations around the gap that holds each row, the row's host part and the longest stretch outside calls."""
    gaps = timeline.gaps
    nothing = np.full(len(start), NO_ROW, np.int64)
    if not len(gaps) or not len(start):
        return nothing, nothing.copy(), start * 0, start * 0
    starts = gaps.read("start_ns")
    clock = ThreadClock.of(starts, gaps.read("end_ns"), start)
    gap = np.searchsorted(clock.key(gaps.read("device"), starts), clock.key(device, start), side="right") - 1
    row = np.maximum(gap, 0)
    idle = (gap >= 0) & (gaps.at(Gaps.device, row) == device) & (start < gaps.at(Gaps.end_ns, row))
    host = np.where(idle, np.clip(gaps.at(Gaps.host_end_ns, row) - start, 0, end - start), 0)
    return (
        np.where(idle, gaps.before[row], NO_ROW),
        np.where(idle, gaps.after[row], NO_ROW),
        host,
        np.where(idle, np.minimum(gaps.at(Gaps.stretch_ns, row), host), 0),
    )


def _running(
    operations: Operations, ids: tuple[str, ...], wait: Int32Array, device: Int32Array, start: Int64Array
) -> Int64Array:
    """The operation of the fitting kind that runs when each row begins."""
    found = np.full(len(start), NO_ROW, np.int64)
    for number, name in enumerate(ids):
        mine = np.flatnonzero(wait == number)
        kind = _BUSY_KINDS.get(name.partition(".")[0])
        rows = np.flatnonzero(operations.kind == kind) if kind is not None else np.arange(len(operations))
        if not len(mine) or not len(rows):
            continue
        clock = ThreadClock.of(operations.start_ns[rows], start[mine])
        keys = clock.key(operations.device[rows], operations.start_ns[rows])
        last = np.searchsorted(keys, clock.key(device[mine], start[mine]), side="right") - 1
        row = rows[np.maximum(last, 0)]
        runs = (last >= 0) & (operations.device[row] == device[mine]) & (operations.end_ns[row] > start[mine])
        found[mine] = np.where(runs, row, NO_ROW)
    return found


def _paths(
    timeline: Timeline, after: Int64Array, thread: Int32Array, times: Int64Array
) -> tuple[tuple[str, ...], Int32Array]:
    """Distinct NVTX paths as text, and the path of each row."""
    if not len(after) or not len(timeline.operations):
        return ("",), np.zeros(len(after), np.int32)
    process = timeline.operations.process[np.maximum(after, 0)]
    innermost, _ = timeline.ranges.at(thread, process, times)
    number = timeline.ranges.path_ids(innermost)
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    names = timeline.trace.names
    texts: dict[str, int] = {"": 0}
    paths = (" / ".join(names[n] for n in timeline.ranges.path(int(innermost[row]))) for row in first)
    numbers = np.array([texts.setdefault(text, len(texts)) for text in paths], np.int32)
    return tuple(texts), numbers[which.reshape(-1)]
