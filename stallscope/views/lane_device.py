"""Lanes of the devices: what waited, every stream, and over all streams communication, copies and page migrations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from stallscope.model.events import Copies, CopyKind, GpuFaults, Kernels, MemoryKind, Migrations
from stallscope.model.trace import Trace
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.timeline import Timeline
from stallscope.views.charges import Charges
from stallscope.views.families import family_of
from stallscope.views.lane_parts import DETAILS, MIGRATION_CLASSES, OPERATION_CLASSES, NameTable, Part, constant, rows32
from stallscope.views.lanes import Group, Int32Array, IntervalClass
from stallscope.views.names import short_kernel

_DIRECTIONS = {
    CopyKind.HOST_TO_DEVICE: "H→D",
    CopyKind.DEVICE_TO_HOST: "D→H",
    CopyKind.DEVICE_TO_DEVICE: "D→D",
    CopyKind.PEER_TO_PEER: "P→P",
    CopyKind.HOST_TO_HOST: "H→H",
}
_CHARGES = DETAILS.index("charges")
_DETAIL_OF_KIND = np.array([1, 1, 2, 3, 4], np.uint8)
"""Number in DETAILS by OperationKind."""


class DeviceParts:
    """Makes the parts of every device of one timeline."""

    def __init__(self, timeline: Timeline, waits: Charges, names: NameTable) -> None:
        self._trace = timeline.trace
        self._operations = timeline.operations
        self._waits = waits
        self._names = names
        self._wait_classes = tuple(IntervalClass(w, w, family_of(w).key) for w in waits.ids)
        self._wait_names = np.array([names.add(w) for w in waits.ids] or [0], np.int32)
        self._operation_names = _operation_names(timeline, names)

    def groups(self) -> tuple[Group, ...]:
        """One group a device that did anything."""
        devices = self._trace.devices
        return tuple(Group(f"gpu{d}", devices[d].label, "device", devices[d].name) for d in self._device_numbers())

    def parts(self) -> Iterator[Part]:
        """Parts of all devices, in the order they are shown."""
        for device in self._device_numbers():
            rows = np.flatnonzero(self._operations.device == device)
            yield from self._wait_part(device)
            streams = list(self._streams(device, rows))
            yield from streams
            for part in self._by_kind(device, rows):
                if not any(np.array_equal(part.source_row, stream.source_row) for stream in streams):
                    yield part
            yield from self._memory(device)

    def _device_numbers(self) -> list[int]:
        return [int(d) for d in np.unique(self._operations.device)]

    def _wait_part(self, device: int) -> Iterator[Part]:
        rows = np.flatnonzero(self._waits.device == device)
        if not len(rows):
            return
        kind = self._waits.wait[rows].astype(np.uint8)
        yield Part(
            key=f"gpu{device}/waits",
            label="waits",
            group=f"gpu{device}",
            lane_kind="waits",
            classes=self._wait_classes,
            start_ns=self._waits.start_ns[rows],
            end_ns=self._waits.end_ns[rows],
            name=self._wait_names[kind],
            kind=kind,
            detail=constant(_CHARGES, len(rows)),
            row=rows32(rows),
            source="charge",
            source_row=rows,
        )

    def _streams(self, device: int, rows: Int64Array) -> Iterator[Part]:
        owner = ("process", "context", "stream")
        mine = self._operations.frame.select(owner)[rows].with_columns(row=pl.Series(rows))
        groups = mine.group_by(owner, maintain_order=True).agg("row").sort(owner)
        several = groups.get_column("process").n_unique() > 1
        for process, context, stream, of_stream in groups.iter_rows():
            note = f" · pid {self._trace.processes[process].pid}" if several else ""
            key = f"gpu{device}/p{process}c{context}s{stream}"
            yield self._operation_part(key, f"stream {stream}{note}", device, np.array(of_stream, np.int64))

    def _by_kind(self, device: int, rows: Int64Array) -> Iterator[Part]:
        """Over all streams: communication, and copies by direction."""
        kind = self._operations.kind[rows]
        talks = rows[kind == OperationKind.COMMUNICATION]
        if len(talks):
            yield self._operation_part(f"gpu{device}/communication", "communication", device, talks)
        copies = self._trace.table(Copies)
        moved = rows[kind == OperationKind.COPY]
        if copies is None or not len(moved):
            return
        direction = copies.kind[self._operations.row[moved]]
        for value in np.unique(direction).tolist():
            label = _DIRECTIONS.get(CopyKind(value), "unknown direction")
            mine = moved[direction == value]
            yield self._operation_part(f"gpu{device}/copies{value}", f"copies {label}", device, mine)

    def _operation_part(self, key: str, label: str, device: int, rows: Int64Array) -> Part:
        kind = self._operations.kind[rows]
        return Part(
            key=key,
            label=label,
            group=f"gpu{device}",
            lane_kind="stream",
            classes=OPERATION_CLASSES,
            start_ns=self._operations.start_ns[rows],
            end_ns=self._operations.end_ns[rows],
            name=self._operation_names[rows],
            kind=kind.astype(np.uint8),
            detail=_DETAIL_OF_KIND[kind],
            row=self._operations.row[rows],
            source="operation",
            source_row=rows,
        )

    def _memory(self, device: int) -> Iterator[Part]:
        for number, (table, key, label) in enumerate(
            ((Migrations, "migrations", "page migrations"), (GpuFaults, "faults", "GPU page faults"))
        ):
            events = self._trace.table(table)
            if not isinstance(events, (Migrations, GpuFaults)):
                continue
            rows = np.flatnonzero(events.device == device)
            if not len(rows):
                continue
            yield Part(
                key=f"gpu{device}/{key}",
                label=label,
                group=f"gpu{device}",
                lane_kind="memory",
                classes=MIGRATION_CLASSES,
                start_ns=events.start_ns[rows],
                end_ns=events.end_ns[rows],
                name=np.full(len(rows), self._names.add(MIGRATION_CLASSES[number].label), np.int32),
                kind=constant(number, len(rows)),
                detail=constant(6 + number, len(rows)),
                row=rows32(rows),
                source="other",
                source_row=rows,
            )


def _operation_names(timeline: Timeline, names: NameTable) -> Int32Array:
    """Kernels by their short name; copies, memsets and graph runs get a descriptive one."""
    operations = timeline.operations
    name = np.zeros(len(operations), np.int32)
    kind = operations.kind
    kernels = timeline.trace.table(Kernels)
    ran = np.flatnonzero(kind <= OperationKind.COMMUNICATION)
    if kernels is not None and len(ran):
        name[ran] = _kernel_names(timeline.trace, kernels, names)[operations.row[ran]]
    name[kind == OperationKind.MEMSET] = names.add("memset")
    name[kind == OperationKind.GRAPH] = names.add("CUDA graph")
    copied = np.flatnonzero(kind == OperationKind.COPY)
    if len(copied):
        name[copied] = _copy_names(timeline.trace, names)[operations.row[copied]]
    return name


def _kernel_names(trace: Trace, kernels: Kernels, names: NameTable) -> Int32Array:
    """Short name of every kernel launch, from its demangled one."""
    found, which = np.unique(kernels.full_name, return_inverse=True)
    shorts: Int32Array = np.array([names.add(short_kernel(trace.names[number])) for number in found], np.int32)
    return shorts[which.reshape(-1)]


def _copy_names(trace: Trace, names: NameTable) -> Int32Array:
    """`copy H→D (pageable → device)` for every copy."""
    copies = trace.table(Copies)
    if copies is None:
        return np.empty(0, np.int32)
    shape = np.stack([copies.kind, copies.source_kind, copies.target_kind])
    found, which = np.unique(shape, axis=1, return_inverse=True)
    texts = [
        names.add(
            f"copy {_DIRECTIONS.get(CopyKind(kind), '?')} "
            f"({MemoryKind(source).name.lower()} → {MemoryKind(target).name.lower()})"
        )
        for kind, source, target in found.T.tolist()
    ]
    numbers: Int32Array = np.array(texts, np.int32)
    return numbers[which.reshape(-1)]
