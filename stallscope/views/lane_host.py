"""Lanes of the host threads: API calls, NVTX ranges, OS calls, the GIL and time off the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stallscope.model.events import CrossThreadRanges, GilSpans, NvtxRanges, OsCalls, SchedSpans
from stallscope.timeline.calls import CallKind
from stallscope.timeline.timeline import Timeline
from stallscope.views import lane_parts
from stallscope.views.lane_parts import NameTable, Part, Source, constant, rows32
from stallscope.views.lanes import Group, Int32Array, Int64Array, IntervalClass, LaneKind, UInt8Array

_CALL_CLASS: dict[CallKind, int] = {
    CallKind.LAUNCH: 1,
    CallKind.GRAPH_LAUNCH: 1,
    CallKind.SYNC_STREAM: 2,
    CallKind.SYNC_DEVICE: 2,
    CallKind.SYNC_EVENT: 2,
    CallKind.ALLOC: 3,
    CallKind.FREE: 3,
    CallKind.ALLOC_PINNED: 3,
    CallKind.ALLOC_ASYNC: 3,
    CallKind.ALLOC_MAP: 3,
    CallKind.ALLOC_MANAGED: 3,
    CallKind.COPY: 4,
    CallKind.COPY_BLOCKING: 4,
    CallKind.MEMSET: 4,
    CallKind.PREFETCH: 4,
    CallKind.MODULE_LOAD: 5,
    CallKind.JIT: 5,
    CallKind.GRAPH_BUILD: 5,
    CallKind.CONTEXT: 5,
}
_CLASS_BY_KIND = np.array([_CALL_CLASS.get(kind, 0) for kind in sorted(CallKind)], np.uint8)
_CALLS = lane_parts.DETAILS.index("calls")
_CALLER_FIRST = 1_000_000
"""One API call outweighs this many other events when threads are ordered."""


@dataclass(frozen=True, slots=True)
class HostRows:
    """Rows of one kind on all threads; one kind becomes one part a thread."""

    key: str
    label: str
    lane_kind: LaneKind
    classes: tuple[IntervalClass, ...]
    thread: Int32Array
    start_ns: Int64Array
    end_ns: Int64Array
    name: Int32Array
    kind: UInt8Array
    source: Source = "other"

    def part(self, thread: int) -> Part | None:
        """The rows of one thread, or None when it has none."""
        rows = np.flatnonzero(self.thread == thread)
        if not len(rows):
            return None
        return Part(
            key=f"t{thread}/{self.key}",
            label=self.label,
            group=f"t{thread}",
            lane_kind=self.lane_kind,
            classes=self.classes,
            start_ns=self.start_ns[rows],
            end_ns=self.end_ns[rows],
            name=self.name[rows],
            kind=self.kind[rows],
            detail=constant(_CALLS if self.source == "call" else 0, len(rows)),
            row=rows32(rows),
            source=self.source,
            source_row=rows,
        )


def host_groups(timeline: Timeline, kinds: list[HostRows]) -> tuple[Group, ...]:
    """One group a thread with anything to show, the busiest callers first."""
    trace = timeline.trace
    counts = np.zeros(len(trace.threads), np.int64)
    for rows in kinds:
        weight = _CALLER_FIRST if rows.source == "call" else 1
        counts += np.bincount(rows.thread, minlength=len(counts)) * weight
    shown = [int(t) for t in np.argsort(-counts, kind="stable") if counts[t]]
    several = len(trace.processes) > 1
    return tuple(
        Group(
            key=f"t{t}",
            label=f"thread {trace.threads[t].tid}",
            kind="thread",
            note=f"pid {trace.processes[trace.threads[t].process].pid}" if several else "",
        )
        for t in shown
    )


def host_parts(groups: tuple[Group, ...], kinds: list[HostRows]) -> Iterator[Part]:
    """Parts of every thread, thread after thread."""
    for group in groups:
        for rows in kinds:
            part = rows.part(int(group.key.removeprefix("t")))
            if part is not None:
                yield part


def host_rows(timeline: Timeline, names: NameTable) -> list[HostRows]:
    """What was recorded of the host, in the order it is shown below each thread."""
    found = [_calls(timeline)] if len(timeline.calls) else []
    found += list(_ranges(timeline))
    found += list(_waiting(timeline, names))
    return found


def _calls(timeline: Timeline) -> HostRows:
    calls = timeline.calls
    return HostRows(
        "api",
        "CUDA API",
        "api",
        lane_parts.CALL_CLASSES,
        calls.thread,
        calls.start_ns,
        calls.end_ns,
        calls.name,
        _CLASS_BY_KIND[calls.kind],
        "call",
    )


def _ranges(timeline: Timeline) -> Iterator[HostRows]:
    for table, key, label in (
        (NvtxRanges, "nvtx", "NVTX"),
        (CrossThreadRanges, "nvtx-crossing", "NVTX start/end"),
    ):
        ranges = timeline.trace.table(table)
        if isinstance(ranges, (NvtxRanges, CrossThreadRanges)) and len(ranges):
            kind = constant(0, len(ranges))
            columns = (ranges.thread, ranges.start_ns, ranges.end_ns, ranges.name, kind)
            yield HostRows(key, label, "nvtx", lane_parts.RANGE_CLASSES, *columns)


def _waiting(timeline: Timeline, names: NameTable) -> Iterator[HostRows]:
    trace = timeline.trace
    os_calls, gil, off = trace.table(OsCalls), trace.table(GilSpans), trace.table(SchedSpans)
    if os_calls is not None and len(os_calls):
        columns = (os_calls.thread, os_calls.start_ns, os_calls.end_ns, os_calls.name, constant(0, len(os_calls)))
        yield HostRows("os", "OS runtime", "os", lane_parts.OS_CLASSES, *columns)
    if gil is not None and len(gil):
        kind = gil.waiting.astype(np.uint8)
        texts = np.array([names.add(c.label) for c in lane_parts.GIL_CLASSES], np.int32)
        yield HostRows(
            "gil", "Python GIL", "gil", lane_parts.GIL_CLASSES, gil.thread, gil.start_ns, gil.end_ns, texts[kind], kind
        )
    if off is not None and len(off):
        name = np.full(len(off), names.add("off the CPU"), np.int32)
        columns = (off.thread, off.start_ns, off.end_ns, name, constant(0, len(off)))
        yield HostRows("off-cpu", "off the CPU", "off-cpu", lane_parts.OFF_CPU_CLASSES, *columns)
