"""The ledger: every nanosecond of a device's window goes to exactly one wait id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from stallscope.model.analysis import UNATTRIBUTED
from stallscope.timeline.intervals import EMPTY, Int64Array, IntervalSet, expand, positions, subtract, union
from stallscope.timeline.native import UNSORTED, halves, sweeps, words
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


Sweep = Callable[[DeviceWindow], dict[str, IntervalSet]]


def settle(
    windows: tuple[DeviceWindow, ...],
    claims: Mapping[str, Claims],
    mapped: Callable[[Sweep, tuple[DeviceWindow, ...]], Iterable[dict[str, IntervalSet]]] = map,
) -> Settlement:
    """Sweep every device once; where claims overlap, PRECEDENCE decides. Ledgers sum to their windows exactly.

    `mapped` may sweep the devices side by side: each writes to rows of its own.
    """
    order = sorted(claims, key=lambda wait: PRECEDENCE.index(wait) if wait in PRECEDENCE else len(PRECEDENCE))
    owned = {wait: np.zeros(len(claims[wait]), np.int64) for wait in order}
    swept = mapped(lambda window: _sweep(window, order, claims, owned), windows)
    charges = {window.device: found for window, found in zip(windows, swept, strict=True)}
    ledgers = {device: {wait: set_.total_ns() for wait, set_ in found.items()} for device, found in charges.items()}
    return Settlement(ledgers, {wait: Owned(claims[wait], owned[wait]) for wait in order}, charges)


def _sweep(
    window: DeviceWindow, order: list[str], claims: Mapping[str, Claims], owned: dict[str, Int64Array]
) -> dict[str, IntervalSet]:
    free, charges = window.window, {}
    for wait in order:
        got, free = take_claims(free, claims[wait], window.device, owned[wait])
        if len(got.starts):
            charges[wait] = got
    charges[UNATTRIBUTED] = free
    return charges


def take_claims(
    free: IntervalSet, claims: Claims, device: int, owned_ns: Int64Array
) -> tuple[IntervalSet, IntervalSet]:
    """What the device's claims cover of the free time, and what stays free; `owned_ns` grows by what each claim got.

    Where claims overlap, the one that begins first gets the overlap.
    """
    native = sweeps()
    rows = np.flatnonzero(claims.device == device)
    if not len(rows) or not len(free.starts):
        return EMPTY, free
    if native is None:
        return _take_claims(free, claims, rows, owned_ns)
    pieces = len(free.starts) + len(rows)
    got, left = (IntervalSet(np.empty(pieces, np.int64), np.empty(pieces, np.int64)) for _ in range(2))
    sizes = np.empty(2, np.int64)
    spans = words(claims.start_ns), words(claims.end_ns), len(claims)
    state = native(
        "claim", *free, len(free.starts), halves(claims.device), *spans, device, owned_ns, *got, *left, sizes
    )
    if state == UNSORTED:
        return _take_claims(free, claims, rows, owned_ns)
    return got.head(int(sizes[0])), left.head(int(sizes[1]))


def _take_claims(
    free: IntervalSet, claims: Claims, rows: Int64Array, owned_ns: Int64Array
) -> tuple[IntervalSet, IntervalSet]:
    starts, ends, rows = _disjoint(claims, rows)
    first, after = positions(free.ends, starts, "right"), positions(free.starts, ends)
    claim, piece = expand(first, after)
    got = np.maximum(starts[claim], free.starts[piece]), np.minimum(ends[claim], free.ends[piece])
    owned_ns[rows] += np.bincount(claim, weights=got[1] - got[0], minlength=len(rows)).astype(np.int64)
    return union(*got), subtract(free, union(starts, ends))


def _disjoint(claims: Claims, rows: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The claims by start, made disjoint (the earlier one keeps the overlap)."""
    if np.any(np.diff(claims.start_ns[rows]) < 0):
        rows = rows[np.argsort(claims.start_ns[rows], kind="stable")]
    starts, ends = claims.start_ns[rows], claims.end_ns[rows]
    reach = np.maximum.accumulate(ends)
    starts[1:] = np.maximum(starts[1:], reach[:-1])
    keep = ends > starts
    return starts[keep], ends[keep], rows[keep]
