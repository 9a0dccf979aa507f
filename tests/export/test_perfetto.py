"""Perfetto traces, read back with Perfetto's own classes and, where it is installed, its own trace processor."""

from __future__ import annotations

import io
import os
import shutil
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent

from stallscope.api import Examination
from stallscope.export.perfetto import write_perfetto
from stallscope.export.selection import select
from stallscope.views.families import is_wait
from stallscope.views.lanes import NOWHERE, LaneTable

Slice = tuple[str, str, int, int]


@dataclass
class Replayed:
    """What a trace means: slices by track path, flows as the slices they pass, in time order."""

    slices: list[Slice] = field(default_factory=list)
    flows: dict[int, list[tuple[str, str, int]]] = field(default_factory=lambda: defaultdict(list))
    categories: dict[tuple[str, str, int], str] = field(default_factory=dict)
    annotations: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)


def exported(lanes: LaneTable, **options: Any) -> bytes:
    out = io.BytesIO()
    findings = options.pop("findings", None)
    write_perfetto(lanes, select(lanes, options.get("window"), options.get("max_events", 10**9)), out, findings)
    return out.getvalue()


def replay(data: bytes) -> Replayed:
    """The semantics of track events: a stack a track, ends close the innermost slice."""
    trace = Trace()
    trace.ParseFromString(data)
    names, kinds, notes, paths = {}, {}, {}, {}
    open_: dict[int, list[tuple[str, int]]] = defaultdict(list)
    found, last = Replayed(), 0
    for packet in trace.packet:
        for entry in packet.interned_data.event_names:
            names[entry.iid] = entry.name
        for entry in packet.interned_data.event_categories:
            kinds[entry.iid] = entry.name
        for entry in packet.interned_data.debug_annotation_names:
            notes[entry.iid] = entry.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            parent = f"{paths[track.parent_uuid]} / " if track.parent_uuid else ""
            paths[track.uuid] = parent + (track.name or track.process.process_name)
        if not packet.HasField("track_event"):
            continue
        assert packet.timestamp >= last
        last, event = packet.timestamp, packet.track_event
        path = paths[event.track_uuid]
        if event.type == TrackEvent.TYPE_SLICE_END:
            name, start = open_[event.track_uuid].pop()
            found.slices.append((path, name, start, packet.timestamp))
            continue
        assert packet.sequence_flags & TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        key = (path, names[event.name_iid], packet.timestamp)
        found.categories[key] = kinds[event.category_iids[0]]
        found.annotations[key] = {notes[a.name_iid]: a.string_value or a.int_value for a in event.debug_annotations}
        for flow in event.flow_ids:
            found.flows[flow].append(key)
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            open_[event.track_uuid].append((names[event.name_iid], packet.timestamp))
        else:
            found.slices.append((path, names[event.name_iid], packet.timestamp, packet.timestamp))
    assert not any(open_.values()), "a slice never ends"
    return found


def wanted(lanes: LaneTable) -> list[Slice]:
    groups = {g.key: f"{g.label}{' ' + g.note if g.note else ''}" for g in lanes.groups}
    rows = []
    for lane in lanes.lanes:
        for row in range(lane.first, lane.after):
            name = lanes.names[lanes.intervals.name[row]]
            start, end = int(lanes.intervals.start_ns[row]), int(lanes.intervals.end_ns[row])
            rows.append((f"{groups[lane.group]} / {lane.label}", name, start, end))
    return rows


def test_every_interval_is_a_slice_on_its_track(lanes: LaneTable) -> None:
    assert sorted(replay(exported(lanes)).slices) == sorted(wanted(lanes))


def test_waits_have_flows_through_launch_and_operation(lanes: LaneTable) -> None:
    found = replay(exported(lanes))
    charges = lanes.charges
    ended = [
        c
        for c in range(len(charges))
        if is_wait(charges.waits[charges.wait[c]]) and charges.at[c] != NOWHERE and charges.after[c] != NOWHERE
    ]
    assert len(found.flows) >= len(ended) > 0
    for steps in found.flows.values():
        assert len(steps) in {2, 3}
        tracks = [path for path, _, _ in steps]
        assert sum(path.endswith("/ waits") for path in tracks) == 1
        assert any("stream" in path or "CUDA API" in path for path in tracks)


def test_waits_carry_category_range_and_finding(lanes: LaneTable, examination: Examination) -> None:
    finding = next(f for f in examination.analysis.findings if f.wait == "alloc.sync")
    found = replay(exported(lanes, findings={"alloc.sync": finding.id}))
    notes = [note for key, note in found.annotations.items() if found.categories[key] == "alloc.sync"]
    assert notes
    assert {note["finding"] for note in notes} == {finding.id}
    assert all("step" in note.get("NVTX range", "step") for note in notes)
    assert {"NVTX range", "finding", "host part, ns", "outside API calls, ns"} >= set(notes[0])


def test_window_cuts_slices_at_its_edges(lanes: LaneTable) -> None:
    low, high = lanes.span_ns
    low, high = low + (high - low) // 3, high - (high - low) // 3
    found = replay(exported(lanes, window=(low, high)))
    assert found.slices
    assert all(low <= start <= end <= high for _, _, start, end in found.slices)
    assert len(found.slices) < len(lanes)


def test_too_many_events_leave_the_part_that_waits_most(lanes: LaneTable) -> None:
    limit = len(lanes) // 10
    part = select(lanes, None, limit)
    assert part.chosen
    assert 0 < len(part.rows) <= limit
    assert part.total == len(lanes)
    same = part.high_ns - part.low_ns
    low, high = lanes.span_ns
    waits = [lane for lane in lanes.lanes if lane.kind == "waits"]

    def waiting(a: int, b: int) -> int:
        rows = [row for lane in waits for row in range(lane.first, lane.after)]
        keys = [lanes.classes[lanes.intervals.kind[row]].key for row in rows]
        spans = [(int(lanes.intervals.start_ns[row]), int(lanes.intervals.end_ns[row])) for row in rows]
        return sum(max(0, min(b, e) - max(a, s)) for (s, e), key in zip(spans, keys, strict=True) if is_wait(key))

    chosen = waiting(part.low_ns, part.high_ns)
    others = [waiting(begin, begin + same) for begin in range(low, high - same, max(1, (high - low) // 20))]
    inside = [
        len(select(lanes, (b, b + same), 10**9).rows) for b in range(low, high - same, max(1, (high - low) // 20))
    ]
    assert chosen >= max(w for w, count in zip(others, inside, strict=True) if count <= limit * 0.9)


def test_same_trace_gives_the_same_bytes(lanes: LaneTable) -> None:
    assert exported(lanes) == exported(lanes)


def test_trace_processor_reads_the_same(lanes: LaneTable, tmp_path: Path) -> None:
    shell = os.environ.get("TRACE_PROCESSOR_SHELL") or shutil.which("trace_processor_shell")
    if shell is None:
        pytest.skip(
            "trace_processor_shell is not installed: set TRACE_PROCESSOR_SHELL to read traces with Perfetto itself"
        )
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    file = tmp_path / "t.pftrace"
    file.write_bytes(exported(lanes))
    with TraceProcessor(trace=str(file), config=TraceProcessorConfig(bin_path=shell)) as processor:
        slices = processor.query("select name, ts, dur from slice")
        assert sorted((row.name, row.ts, row.ts + row.dur) for row in slices) == sorted(s[1:] for s in wanted(lanes))
        errors = processor.query("select name from stats where severity = 'error' and value > 0")
        assert [row.name for row in errors] == []
        assert next(iter(processor.query("select count(*) as n from flow"))).n > 0
