"""The ledger: every nanosecond of a device's window goes to exactly one wait id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stallscope.model.analysis import UNATTRIBUTED
from stallscope.timeline.intervals import Int64Array, IntervalSet, expand, union
from stallscope.timeline.windows import DeviceWindow
from stallscope.waits.base import Claims

# Who owns an instant that several rules explain: the first one named here. In-kernel causes cut their measured part out
# of compute; below the busy ids stand the idle ids, the most direct evidence first, the burden of proof falling on the
# generic ones. Rules from elsewhere that are not named come after the named ones, unattributed last.
PRECEDENCE: tuple[str, ...] = (
    "uvm.thrash",
    "uvm.evict",
    "uvm.fault_gpu",
    "fence.interference",
    "comm.interference",
    "link.zero_copy",
    "alloc.relocate",
    "ok.compute",
    "comm.peer_wait",
    "comm.exposed",
    "copy.pageable",
    "offload.exposed",
    "copy.exposed",
    "ok.memset",
    "env.profiler_overhead",
    "init.context",
    "init.jit",
    "init.lazy_load",
    "init.graph",
    "alloc.retry",
    "alloc.pinned",
    "alloc.map",
    "alloc.sync",
    "alloc.pool_trim",
    "uvm.fault_cpu",
    "input.wait",
    "host.gil",
    "host.blocked",
    "copy.blocking",
    "sync.scalar",
    "sync.device",
    "sync.event",
    "sync.stream",
    "dep.host_callback",
    "dep.other_device",
    "dep.stream_wait",
    "dep.default_stream",
    "env.shared_gpu",
    "launch.drain",
    "launch.gap",
    "host.busy",
)


@dataclass(frozen=True, slots=True)
class Owned:
    """What the ledgers charge to one id: `owned_ns[row]` of every claim row, and the outcome per device."""

    claims: Claims
    owned_ns: Int64Array


@dataclass(frozen=True, slots=True)
class Settlement:
    """Result of the sweep: totals per device and id, what each claim really got, and when each id was charged."""

    ledgers: Mapping[int, Mapping[str, int]]
    owned: Mapping[str, Owned]
    charges: Mapping[int, Mapping[str, IntervalSet]]


def settle(windows: tuple[DeviceWindow, ...], claims: Mapping[str, Claims]) -> Settlement:
    """Sweep every device once; where claims overlap, PRECEDENCE decides. Ledgers sum to their windows exactly."""
    order = sorted(claims, key=lambda wait: PRECEDENCE.index(wait) if wait in PRECEDENCE else len(PRECEDENCE))
    owned = {wait: np.zeros(len(claims[wait]), np.int64) for wait in order}
    charges = {window.device: _sweep(window, order, claims, owned) for window in windows}
    ledgers = {device: {wait: set_.total_ns() for wait, set_ in found.items()} for device, found in charges.items()}
    return Settlement(ledgers, {wait: Owned(claims[wait], owned[wait]) for wait in order}, charges)


def _sweep(
    window: DeviceWindow, order: list[str], claims: Mapping[str, Claims], owned: dict[str, Int64Array]
) -> dict[str, IntervalSet]:
    parts = {wait: _disjoint(claims[wait], window) for wait in order}
    edges = _distinct([*window.window, *(edge for part in parts.values() for edge in part[:2])])
    lengths = np.diff(edges)
    free = _inside(edges, window)
    charges: dict[str, IntervalSet] = {}
    for wait in order:
        starts, ends, rows = parts[wait]
        part, segment = expand(np.searchsorted(edges, starts), np.searchsorted(edges, ends))
        mine = free[segment]
        segment, part = segment[mine], part[mine]
        free[segment] = False
        got = np.bincount(rows[part], weights=lengths[segment], minlength=len(owned[wait])).astype(np.int64)
        owned[wait] += got
        if len(segment):
            charges[wait] = union(edges[segment], edges[segment + 1])
    charges[UNATTRIBUTED] = union(edges[:-1][free], edges[1:][free])
    return charges


def _distinct(parts: list[Int64Array]) -> Int64Array:
    """All distinct times, sorted. Every part is sorted already, which a stable sort makes use of."""
    times: Int64Array = np.sort(np.concatenate(parts), kind="stable")
    distinct: Int64Array = times[np.concatenate((np.ones(min(1, len(times)), np.bool_), times[1:] != times[:-1]))]
    return distinct


def _disjoint(claims: Claims, window: DeviceWindow) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Claims on the device cut to the window's extent, made disjoint (the earlier one keeps the overlap)."""
    low, high = int(window.window.starts[0]), int(window.window.ends[-1])
    rows = np.flatnonzero((claims.device == window.device) & (claims.start_ns < high) & (claims.end_ns > low))
    if np.any(np.diff(claims.start_ns[rows]) < 0):
        rows = rows[np.argsort(claims.start_ns[rows], kind="stable")]
    starts = np.maximum(claims.start_ns[rows], low)
    ends = np.minimum(claims.end_ns[rows], high)
    if len(rows):
        reach = np.maximum.accumulate(ends)
        starts[1:] = np.maximum(starts[1:], reach[:-1])
    keep = ends > starts
    return starts[keep], ends[keep], rows[keep]


def _inside(edges: Int64Array, window: DeviceWindow) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Elementary segments that lie in the window."""
    middle = np.searchsorted(window.window.starts, edges[:-1], side="right") - 1
    return (middle >= 0) & (edges[:-1] < window.window.ends[np.maximum(middle, 0)])
