"""The ledger: every nanosecond of a device's window goes to exactly one wait id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.analysis import UNATTRIBUTED
from stallscope.timeline.intervals import EMPTY, Int64Array, IntervalSet, expand, positions, subtract, union
from stallscope.timeline.native import sweeps, words
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
    "uvm.prefetch",
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
Work = Callable[[DeviceWindow], IntervalSet]
"""When a device worked. No finding asks what each of its many intervals got, so it is found device by device."""


def settle(
    windows: tuple[DeviceWindow, ...],
    claims: Mapping[str, Claims],
    work: Mapping[str, Work],
    mapped: Callable[[Sweep, tuple[DeviceWindow, ...]], Iterable[dict[str, IntervalSet]]] = map,
) -> Settlement:
    """Sweep every device once; where claims and work overlap, PRECEDENCE decides. Ledgers sum to their windows exactly.

    `mapped` may sweep the devices side by side: each writes to rows of its own.
    """
    every = [*work, *claims]
    order = sorted(every, key=lambda wait: PRECEDENCE.index(wait) if wait in PRECEDENCE else len(PRECEDENCE))
    owned = {wait: Owned(claims[wait], np.zeros(len(claims[wait]), np.int64)) for wait in order if wait in claims}
    swept = mapped(lambda window: _sweep(window, order, owned, work), windows)
    charges = {window.device: found for window, found in zip(windows, swept, strict=True)}
    ledgers = {device: {wait: set_.total_ns() for wait, set_ in found.items()} for device, found in charges.items()}
    return Settlement(ledgers, owned, charges)


def _sweep(
    window: DeviceWindow, order: list[str], owned: Mapping[str, Owned], work: Mapping[str, Work]
) -> dict[str, IntervalSet]:
    free, charges = window.window, dict[str, IntervalSet]()
    for wait in order:
        if wait in work:
            got, free, _ = _taken(free, *work[wait](window))
        else:
            got, free = take_claims(free, owned[wait].claims, window.device, owned[wait].owned_ns)
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
    index = np.flatnonzero(claims.read("device") == device)
    count = len(index)
    if not count or not len(free.starts):
        return EMPTY, free
    together = index[-1] - index[0] == count - 1  # then the device's claims need no copies
    rows: npt.NDArray[np.intp] | slice = slice(int(index[0]), int(index[-1]) + 1) if together else index
    starts, ends = claims.at(Claims.start_ns, rows), claims.at(Claims.end_ns, rows)
    if np.any(starts[1:] < starts[:-1]):
        order = np.argsort(starts, kind="stable")
        rows, starts, ends = index[order], starts[order], ends[order]
    got, left, owned = _taken(free, starts, ends)
    owned_ns[rows] += owned
    return got, left


def _taken(free: IntervalSet, starts: Int64Array, ends: Int64Array) -> tuple[IntervalSet, IntervalSet, Int64Array]:
    """The same for claims by start: what they get, what is left, and how much each got."""
    native, count = sweeps(), len(starts)
    if not count or not len(free.starts):
        return EMPTY, free, np.zeros(count, np.int64)
    if native is None:
        return _take(free, starts, ends)
    pieces = len(free.starts) + count
    got, left = (IntervalSet(np.empty(pieces, np.int64), np.empty(pieces, np.int64)) for _ in range(2))
    owned, sizes = np.zeros(count, np.int64), np.empty(2, np.int64)
    native("claim", *free, len(free.starts), words(starts), words(ends), count, owned, *got, *left, sizes)
    return got.head(int(sizes[0])), left.head(int(sizes[1])), owned


def _take(free: IntervalSet, starts: Int64Array, ends: Int64Array) -> tuple[IntervalSet, IntervalSet, Int64Array]:
    starts = np.maximum(starts, np.concatenate((starts[:1], np.maximum.accumulate(ends)[:-1])))
    keep = np.flatnonzero(ends > starts)
    first, after = positions(free.ends, starts[keep], "right"), positions(free.starts, ends[keep])
    claim, piece = expand(first, after)
    claim = keep[claim]
    got = np.maximum(starts[claim], free.starts[piece]), np.minimum(ends[claim], free.ends[piece])
    owned = np.bincount(claim, weights=got[1] - got[0], minlength=len(starts)).astype(np.int64)
    return union(*got), subtract(free, union(starts[keep], ends[keep])), owned
