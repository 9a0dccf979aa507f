"""The timeline as a Perfetto trace: one track a lane, waits first, with a flow from each wait through its launch.

Written with Perfetto's own protocol classes. Timestamps are those of the capture; slices are cut to the exported
window. Names, categories and annotation names are interned once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (  # type: ignore[import-untyped]
    Trace,
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)

from stallscope.export.selection import Selection
from stallscope.views.families import is_wait
from stallscope.views.lanes import NOWHERE, Group, Int64Array, LaneTable
from stallscope.views.text import printable

BoolArray = npt.NDArray[np.bool_]

SEQUENCE = 1
DEVICE_PID = 1_000_000
"""Devices and threads appear as processes, whose numbers begin here."""

NAME_LENGTH = 240
_CHUNK = 20_000
_BEGIN, _END, _INSTANT = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT
_ANNOTATIONS = ("NVTX range", "finding", "host part, ns", "outside API calls, ns")


class WaitFacts(NamedTuple):
    """What a wait's slice tells beside its name: where it was, and how the host spent it."""

    path: str
    finding: str
    host_ns: int
    outside_ns: int


def write_perfetto(
    table: LaneTable, selection: Selection, out: BinaryIO, findings: Mapping[str, str] | None = None
) -> int:
    """Write the trace; returns the number of slices. `findings` gives the finding id of a wait id."""
    chunk = Trace()
    for packet in _packets(table, selection, findings or {}):
        chunk.packet.append(packet)
        if len(chunk.packet) >= _CHUNK:
            out.write(chunk.SerializeToString())
            chunk.Clear()
    out.write(chunk.SerializeToString())
    return len(selection.rows)


def _packets(table: LaneTable, selection: Selection, findings: Mapping[str, str]) -> Iterator[TracePacket]:
    yield _interned(table, selection)
    yield from _tracks(table, selection)
    yield from _slices(table, selection, findings)


def _interned(table: LaneTable, selection: Selection) -> TracePacket:
    packet = TracePacket(trusted_packet_sequence_id=SEQUENCE)
    packet.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    for name in np.unique(table.intervals.name[selection.rows]).tolist():
        packet.interned_data.event_names.add(iid=name + 1, name=printable(table.names[name], NAME_LENGTH))
    for number, kind in enumerate(table.classes):
        packet.interned_data.event_categories.add(iid=number + 1, name=printable(kind.label, NAME_LENGTH))
    for number, name in enumerate(_ANNOTATIONS):
        packet.interned_data.debug_annotation_names.add(iid=number + 1, name=name)
    return packet


def _tracks(table: LaneTable, selection: Selection) -> Iterator[TracePacket]:
    used = set(np.unique(selection.lane).tolist())
    groups = {table.lanes[number].group for number in used}
    for rank, group in enumerate(table.groups):
        if group.key in groups:
            yield _group_track(group, rank)
    for number in sorted(used):
        lane = table.lanes[number]
        descriptor = TrackDescriptor(uuid=_lane_uuid(number), parent_uuid=_group_uuid(table, lane.group))
        descriptor.name = printable(lane.label, NAME_LENGTH)
        descriptor.sibling_order_rank = number
        yield TracePacket(trusted_packet_sequence_id=SEQUENCE, track_descriptor=descriptor)


def _group_track(group: Group, rank: int) -> TracePacket:
    descriptor = TrackDescriptor(uuid=rank + 1)
    descriptor.child_ordering = TrackDescriptor.EXPLICIT
    note = f" {printable(group.note, NAME_LENGTH)}" if group.note else ""
    descriptor.process.pid = DEVICE_PID + rank
    descriptor.process.process_name = f"{printable(group.label, NAME_LENGTH)}{note}"
    descriptor.process.process_labels.append("device" if group.kind == "device" else "host thread")
    return TracePacket(trusted_packet_sequence_id=SEQUENCE, track_descriptor=descriptor)


def _group_uuid(table: LaneTable, key: str) -> int:
    return next(rank for rank, group in enumerate(table.groups) if group.key == key) + 1


def _lane_uuid(number: int) -> int:
    return 1_000_000 + number


def _slices(table: LaneTable, selection: Selection, findings: Mapping[str, str]) -> Iterator[TracePacket]:
    """Begin and end packets in time order; at one instant ends come first. An empty interval is an instant."""
    rows = selection.rows
    flows, facts = _flows(table, rows), _wait_facts(table, rows, findings)
    lanes, wanted = selection.lane.tolist(), rows.tolist()
    names = (table.intervals.name[rows] + 1).tolist()
    kinds = (table.intervals.kind[rows].astype(np.int64) + 1).tolist()
    for slice_, type_, time in _edges(table, selection):
        packet = TracePacket(timestamp=time, trusted_packet_sequence_id=SEQUENCE)
        event = packet.track_event
        event.track_uuid = _lane_uuid(lanes[slice_])
        event.type = type_
        if type_ != _END:
            packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            event.name_iid = names[slice_]
            event.category_iids.append(kinds[slice_])
            row = wanted[slice_]
            if row in flows:
                event.flow_ids.extend(flows[row])
            if row in facts:
                _annotate(event, facts[row])
        yield packet


def _edges(table: LaneTable, selection: Selection) -> Iterator[tuple[int, int, int]]:
    """(position in the selection, event type, time) in the order of the packets."""
    start = np.maximum(table.intervals.start_ns[selection.rows], selection.low_ns)
    end = np.minimum(table.intervals.end_ns[selection.rows], selection.high_ns)
    empty = end <= start
    closing = np.flatnonzero(~empty)
    times = np.concatenate((start, end[closing]))
    types = np.concatenate((np.where(empty, _INSTANT, _BEGIN), np.full(len(closing), _END)))
    slices = np.concatenate((np.arange(len(start)), closing))
    order = np.lexsort((types != _END, times))
    return zip(slices[order].tolist(), types[order].tolist(), times[order].tolist(), strict=True)


def _flows(table: LaneTable, rows: Int64Array) -> dict[int, list[int]]:
    """Row of the lane table → numbers of the flows through it: a wait, the launch that ended it, what was launched."""
    charges, exported = table.charges, _exported(table, rows)
    found: dict[int, list[int]] = {}
    for charge in _waits(table, exported):
        steps = (int(charges.at[charge]), int(charges.call[charge]), int(charges.after[charge]))
        through = [step for step in steps if step != NOWHERE and exported[step]]
        if len(through) > 1:
            for step in through:
                found.setdefault(step, []).append(charge + 1)
    return found


def _wait_facts(table: LaneTable, rows: Int64Array, findings: Mapping[str, str]) -> dict[int, WaitFacts]:
    charges = table.charges
    return {
        int(charges.at[charge]): WaitFacts(
            path=charges.paths[charges.path[charge]],
            finding=findings.get(charges.waits[charges.wait[charge]], ""),
            host_ns=int(charges.host_ns[charge]),
            outside_ns=int(charges.outside_ns[charge]),
        )
        for charge in _waits(table, _exported(table, rows))
    }


def _exported(table: LaneTable, rows: Int64Array) -> BoolArray:
    flags = np.zeros(len(table) + 1, np.bool_)  # the last flag answers for NOWHERE
    flags[rows] = True
    return flags


def _waits(table: LaneTable, exported: BoolArray) -> list[int]:
    """Charges that are waits and whose interval is exported."""
    charges = table.charges
    if not len(charges):
        return []
    waiting = np.array([is_wait(wait) for wait in charges.waits], np.bool_)[charges.wait]
    found: list[int] = np.flatnonzero(waiting & exported[charges.at]).tolist()
    return found


def _annotate(event: TrackEvent, facts: WaitFacts) -> None:
    for number, text in enumerate((facts.path, facts.finding)):
        if text:
            event.debug_annotations.add(name_iid=number + 1, string_value=printable(text, NAME_LENGTH))
    for number, value in enumerate((facts.host_ns, facts.outside_ns)):
        event.debug_annotations.add(name_iid=number + 3, int_value=value)
