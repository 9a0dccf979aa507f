"""Which part of a timeline is exported, so that the file stays small enough for the tool that opens it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stallscope.views.families import is_wait
from stallscope.views.lanes import Int64Array, LaneTable

MAX_EVENTS = 500_000
_CANDIDATES = 256


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows of the lane table that touch the window `[low_ns, high_ns)`; `chosen` says that we picked the window."""

    low_ns: int
    high_ns: int
    rows: Int64Array
    lane: Int64Array
    total: int
    chosen: bool = False


def select(table: LaneTable, window: tuple[int, int] | None, max_events: int = MAX_EVENTS) -> Selection:
    """The given window, or everything; when that is more than `max_events`, the part of it that waits most."""
    low, high = window or table.span_ns
    whole = _inside(table, low, high)
    if len(whole.rows) <= max_events:
        return whole
    starts = np.sort(table.intervals.start_ns[whole.rows])
    waits = _Waiting(table)
    width = max(1, int((high - low) * max_events / len(starts)))
    while True:
        begins = np.unique(np.linspace(low, max(low, high - width), _CANDIDATES).astype(np.int64))
        counts = np.searchsorted(starts, begins + width) - np.searchsorted(starts, begins)
        cost = np.where(counts <= max_events * 0.98, waits.between(begins, begins + width), -1)
        best = int(np.argmax(cost))
        part = _inside(table, int(begins[best]), int(begins[best]) + width)
        if (cost[best] >= 0 and len(part.rows) <= max_events) or width == 1:
            return Selection(part.low_ns, part.high_ns, part.rows, part.lane, len(whole.rows), chosen=True)
        width = max(1, width // 2)


class _Waiting:
    """Waiting time of all devices in any window."""

    def __init__(self, table: LaneTable) -> None:
        self._table = table
        self._covers = [
            cover
            for lane, covers in zip(table.lanes, table.covers, strict=True)
            for cover in covers
            if lane.kind == "waits" and is_wait(table.classes[cover.kind].key)
        ]

    def between(self, lows: Int64Array, highs: Int64Array) -> Int64Array:
        waiting = np.zeros(len(lows), np.int64)
        for cover in self._covers:
            waiting += self._table.covered_before(cover, highs) - self._table.covered_before(cover, lows)
        return waiting


def _inside(table: LaneTable, low: int, high: int) -> Selection:
    rows, lanes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for number, lane in enumerate(table.lanes):
        first, after = table.inside(lane, low, high)
        rows.append(np.arange(first, after, dtype=np.int64))
        lanes.append(np.full(after - first, number, np.int64))
    found = np.concatenate(rows)
    return Selection(low, high, found, np.concatenate(lanes), len(found))
