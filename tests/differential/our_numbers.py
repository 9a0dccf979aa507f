"""The numbers of `nsys stats` reports, computed by stallscope's own tables and joins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model import events
from stallscope.model.columns import NO_ROW, Table
from stallscope.model.trace import Trace
from stallscope.timeline.intervals import union
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.timeline import Timeline

_DIRECTION = {
    events.CopyKind.HOST_TO_DEVICE: "Host-to-Device",
    events.CopyKind.DEVICE_TO_HOST: "Device-to-Host",
    events.CopyKind.DEVICE_TO_DEVICE: "Device-to-Device",
    events.CopyKind.HOST_TO_HOST: "Host-to-Host",
    events.CopyKind.PEER_TO_PEER: "Peer-to-Peer",
}
MEMSET = "[CUDA memset]"


@dataclass(frozen=True)
class Sum:
    """How often, how long (or how many bytes) altogether, and the extremes."""

    count: int
    total: int
    least: int
    most: int


Sums = dict[str, Sum]


def sums(keys: Iterable[str], values: npt.NDArray[np.int64]) -> Sums:
    """One Sum a distinct key."""
    grouped: dict[str, list[int]] = defaultdict(list)
    for key, value in zip(keys, values.tolist(), strict=True):
        grouped[key].append(value)
    return {key: Sum(len(found), sum(found), min(found), max(found)) for key, found in grouped.items()}


def kernels(trace: Trace) -> Sums:
    """By demangled name."""
    table = trace.table(events.Kernels)
    if table is None:
        return {}
    return sums((trace.names[n] for n in table.full_name), table.end_ns - table.start_ns)


def memory(trace: Trace, *, sizes: bool) -> Sums:
    """Copies, memsets and unified-memory migrations by operation, in ns or in bytes."""
    labels: list[str] = []
    values: list[npt.NDArray[np.int64]] = []
    for kind, prefix in ((events.Copies, ""), (events.Migrations, "Unified ")):
        table = trace.table(kind)
        if table is not None:
            labels += [f"[CUDA memcpy {prefix}{_DIRECTION[events.CopyKind(k)]}]" for k in table.kind.tolist()]
            values.append(table.bytes if sizes else table.end_ns - table.start_ns)
    fills = trace.table(events.Memsets)
    if fills is not None:
        labels += [MEMSET] * len(fills)
        values.append(fills.bytes if sizes else fills.end_ns - fills.start_ns)
    return sums(labels, np.concatenate(values)) if values else {}


def calls(trace: Trace) -> Sums:
    """Runtime and driver calls by name without the ABI suffix."""
    table = trace.table(events.ApiCalls)
    return {} if table is None else sums((trace.names[n] for n in table.name), table.end_ns - table.start_ns)


def os_calls(trace: Trace) -> Sums:
    """Blocking libc calls by name."""
    table = trace.table(events.OsCalls)
    return {} if table is None else sums((trace.names[n] for n in table.name), table.end_ns - table.start_ns)


def _labels(trace: Trace, table: Table) -> list[str]:
    """`domain:text`, or the text alone in the default domain."""
    names = trace.names
    domain = table.array("domain") if "domain" in table.COLUMNS else np.zeros(len(table), np.int32)
    return [
        f"{names[d]}:{names[n]}" if names[d] else names[n]
        for d, n in zip(domain.tolist(), table.array("name").tolist(), strict=True)
    ]


def ranges(trace: Trace) -> Sums:
    """NVTX ranges, also those that cross threads and those of the GIL trace, by text."""
    found: list[str] = []
    lengths: list[npt.NDArray[np.int64]] = []
    for kind in (events.NvtxRanges, events.CrossThreadRanges):
        table = trace.table(kind)
        if table is not None:
            found += _labels(trace, table)
            lengths.append(table.end_ns - table.start_ns)
    return sums(found, np.concatenate(lengths)) if lengths else {}


@dataclass(frozen=True, order=True)
class Launch:
    """One kernel with the call that launched it: start and length of both."""

    kernel_ns: int
    kernel_length_ns: int
    call_ns: int
    call_length_ns: int
    call: str
    kernel: str


def launches(timeline: Timeline) -> list[Launch]:
    """Every kernel whose launch call is known."""
    operations, calls_, names = timeline.operations, timeline.calls, timeline.trace.names
    table = timeline.trace.table(events.Kernels)
    ran = np.isin(operations.kind, (OperationKind.COMPUTE, OperationKind.COMMUNICATION))
    rows = np.flatnonzero(ran & (timeline.launch != NO_ROW))
    found = []
    for row in rows.tolist():
        assert table is not None
        call = int(timeline.launch[row])
        found.append(
            Launch(
                int(operations.start_ns[row]),
                int(operations.end_ns[row] - operations.start_ns[row]),
                int(calls_.start_ns[call]),
                int(calls_.end_ns[call] - calls_.start_ns[call]),
                names[calls_.name[call]],
                names[table.full_name[operations.row[row]]],
            )
        )
    return sorted(found)


@dataclass(frozen=True, order=True)
class Projection:
    """A range of the host and the device time from its first to its last operation."""

    range_ns: int
    range_length_ns: int
    device_ns: int
    device_length_ns: int
    operations: int
    name: str


def projections(timeline: Timeline) -> list[Projection]:
    """Every range under which an operation was launched, on the launching thread itself."""
    tree, operations = timeline.ranges, timeline.operations
    rows = np.flatnonzero(timeline.launch != NO_ROW)
    calls_ = timeline.calls
    call = timeline.launch[rows]
    spans: dict[int, list[int]] = defaultdict(list)
    inner = tree.innermost(calls_.thread[call], calls_.start_ns[call]) if len(calls_) else np.empty(0, np.int64)
    for row, range_ in zip(rows.tolist(), inner.tolist(), strict=True):
        above = range_
        while above != NO_ROW:
            spans[above].append(row)
            above = int(tree.parent[above])
    found, label = [], _labels(timeline.trace, tree.ranges)
    for range_, inside in spans.items():
        first = int(operations.start_ns[inside].min())
        start = int(tree.ranges.start_ns[range_])
        found.append(
            Projection(
                start,
                int(tree.ranges.end_ns[range_]) - start,
                first,
                int(operations.end_ns[inside].max()) - first,
                len({int(timeline.launch[i]) for i in inside}),
                label[range_],
            )
        )
    return sorted(found)


def busy(spans: Iterable[tuple[str, int, int]]) -> dict[str, int]:
    """Time in which anything ran, by device, from (device, start, length)."""
    grouped: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for device, start, length in spans:
        grouped[device].append((start, start + length))
    return {
        device: union(*(np.array(side, np.int64) for side in zip(*found, strict=True))).total_ns()
        for device, found in grouped.items()
    }
