"""Builds the lanes of a trace: devices with their waits and streams first, then the host threads that fed them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.timeline.timeline import Timeline
from stallscope.views.charges import Charges
from stallscope.views.lane_details import detail_columns
from stallscope.views.lane_device import DeviceParts
from stallscope.views.lane_host import host_groups, host_parts, host_rows
from stallscope.views.lane_parts import NameTable, Part
from stallscope.views.lanes import (
    NOWHERE,
    ChargeTable,
    ClassCover,
    Covers,
    Int32Array,
    Int64Array,
    IntervalClass,
    Intervals,
    Lane,
    LaneTable,
)
from stallscope.views.packing import pack


@dataclass(frozen=True, slots=True)
class _Row:
    """One lane-to-be: a part, the rows of it that lie at one depth, in time order."""

    part: Part
    depth: int
    depths: int
    rows: npt.NDArray[np.intp]


def build_lanes(timeline: Timeline, charges: Charges, max_threads: int | None = None) -> LaneTable:
    """All lanes of one trace; `charges` become the first lane of each device. `max_threads` keeps the busiest ones."""
    names = NameTable(timeline.trace.names)
    devices = DeviceParts(timeline, charges, names)
    kinds = host_rows(timeline, names)
    threads = host_groups(timeline, kinds)[:max_threads]
    rows = [row for part in (*devices.parts(), *host_parts(threads, kinds)) for row in _packed(part)]
    lanes = _lanes(rows)
    classes = tuple(dict.fromkeys(c for row in rows for c in row.part.classes))
    at = _Positions.of(rows, lanes, timeline, charges)
    intervals = _intervals(rows, classes, _links(rows, lanes, timeline, at, charges))
    covers, cover = _covers(lanes, intervals)
    return LaneTable(
        lanes=lanes,
        groups=(*devices.groups(), *threads),
        classes=classes,
        names=names.texts(),
        intervals=intervals,
        covers=covers,
        cover=cover,
        details=detail_columns(timeline),
        charges=_charge_table(timeline, charges, at),
    )


def _packed(part: Part) -> list[_Row]:
    order = np.lexsort((-part.end_ns, part.start_ns))
    depth = pack(part.start_ns[order], part.end_ns[order])
    depths = int(depth.max()) + 1 if len(depth) else 0
    return [_Row(part, d, depths, order[depth == d]) for d in range(depths)]


def _lanes(rows: list[_Row]) -> tuple[Lane, ...]:
    lanes: list[Lane] = []
    first = 0
    for row in rows:
        part, after = row.part, first + len(row.rows)
        key = part.key if row.depth == 0 else f"{part.key}/{row.depth}"
        lanes.append(Lane(key, part.label, part.group, part.lane_kind, row.depth, first, after))
        first = after
    return tuple(lanes)


def _intervals(rows: list[_Row], classes: tuple[IntervalClass, ...], link: Int32Array) -> Intervals:
    number = {c: i for i, c in enumerate(classes)}

    def column(name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
        parts = [getattr(row.part, name)[row.rows] for row in rows]
        return np.concatenate([np.empty(0, dtype), *parts]).astype(dtype, copy=False)

    kinds = [np.array([number[c] for c in row.part.classes], np.uint8)[row.part.kind[row.rows]] for row in rows]
    return Intervals(
        start_ns=column("start_ns", np.int64),
        end_ns=column("end_ns", np.int64),
        name=column("name", np.int32),
        kind=np.concatenate([np.empty(0, np.uint8), *kinds]),
        detail=column("detail", np.uint8),
        row=column("row", np.int32),
        link=link,
    )


@dataclass(frozen=True, slots=True)
class _Positions:
    """Where the rows of each source table stand among the intervals."""

    operation: Int32Array
    call: Int32Array
    charge: Int32Array

    @classmethod
    def of(cls, rows: list[_Row], lanes: tuple[Lane, ...], timeline: Timeline, charges: Charges) -> _Positions:
        found = {
            "operation": np.full(len(timeline.operations), NOWHERE, np.int32),
            "call": np.full(len(timeline.calls), NOWHERE, np.int32),
            "charge": np.full(len(charges), NOWHERE, np.int32),
        }
        for row, lane in reversed(list(zip(rows, lanes, strict=True))):  # a stream's lane wins over the lane by kind
            if row.part.source in found:
                found[row.part.source][row.part.source_row[row.rows]] = np.arange(lane.first, lane.after)
        return cls(**found)


def _links(
    rows: list[_Row], lanes: tuple[Lane, ...], timeline: Timeline, at: _Positions, charges: Charges
) -> Int32Array:
    """Where each interval's arrow points: operation → call, call → first operation, charge → the operation after it."""
    launched_first = np.full(len(timeline.calls), NOWHERE, np.int32)
    known = np.flatnonzero(timeline.launch != NOWHERE)[::-1]
    launched_first[timeline.launch[known]] = known
    links = np.full(lanes[-1].after if lanes else 0, NOWHERE, np.int32)
    follow: dict[str, tuple[Int32Array | Int64Array, Int32Array]] = {
        "operation": (timeline.launch, at.call),
        "call": (launched_first, at.operation),
        "charge": (charges.after, at.operation),
    }
    for row, lane in zip(rows, lanes, strict=True):
        if row.part.source in follow:
            step, position = follow[row.part.source]
            links[lane.first : lane.after] = _follow(position, step[row.part.source_row[row.rows]])
    return links


def _charge_table(timeline: Timeline, charges: Charges, at: _Positions) -> ChargeTable:
    trace = timeline.trace
    return ChargeTable(
        waits=charges.ids,
        devices=tuple(d.label for d in trace.devices),
        threads=tuple(str(t.tid) for t in trace.threads),
        paths=charges.paths,
        wait=charges.wait,
        device=charges.device,
        start_ns=charges.start_ns,
        end_ns=charges.end_ns,
        at=at.charge,
        before=_follow(at.operation, charges.before),
        after=_follow(at.operation, charges.after),
        call=_follow(at.call, charges.call),
        thread=charges.thread,
        path=charges.path,
        host_ns=charges.host_ns,
        outside_ns=charges.outside_ns,
    )


def _follow(position: Int32Array, rows: Int32Array | Int64Array) -> Int32Array:
    if not len(position):
        return np.full(len(rows), NOWHERE, np.int32)
    return np.where(rows == NOWHERE, NOWHERE, position[rows]).astype(np.int32)


def _covers(lanes: tuple[Lane, ...], intervals: Intervals) -> tuple[tuple[tuple[ClassCover, ...], ...], Covers]:
    """Prefix sums of each class of each lane; a class's intervals within a lane are disjoint because the lane's are."""
    found: list[tuple[ClassCover, ...]] = []
    starts: list[Int64Array] = [np.empty(0, np.int64)]
    lengths: list[Int64Array] = [np.empty(0, np.int64)]
    before: list[Int64Array] = [np.empty(0, np.int64)]
    first = 0
    for lane in lanes:
        entries = []
        kinds = intervals.kind[lane.first : lane.after]
        for kind in np.unique(kinds).tolist():
            rows = lane.first + np.flatnonzero(kinds == kind)
            length = intervals.end_ns[rows] - intervals.start_ns[rows]
            starts.append(intervals.start_ns[rows])
            lengths.append(length)
            before.append(np.cumsum(length) - length)
            entries.append(ClassCover(kind, first, first + len(rows)))
            first += len(rows)
        found.append(tuple(entries))
    return tuple(found), Covers(np.concatenate(starts), np.concatenate(lengths), np.concatenate(before))
