"""Loading of GPU code: the idle time under its calls and records, and behind those that cost the host its lead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import OverheadKind, Overheads
from stallscope.timeline.blocking import CATCH_UP_NS
from stallscope.timeline.calls import LAUNCHES, SYNCS, CallIndex
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array, IntervalSet, is_one_of
from stallscope.timeline.rows import RowArray
from stallscope.timeline.windows import DeviceWindow
from stallscope.waits.base import Claims, Detection, Fact, View
from stallscope.waits.blocking import call_facts, claim_blocked_by
from stallscope.waits.claims import claim_gaps
from stallscope.waits.hostspans import claim_inside

PROFILED_LOADS = 0.04
"""What loading takes without the profiler, as a part of what it takes under it.

On an H200 a small cubin takes 50 µs and under CUPTI 1.1 ms, sixteen first calls take 60 and 150 µs (docs/probes.md).
"""


@dataclass(frozen=True, slots=True)
class Loading:
    """What a rule about loading blames: kinds of records, a name for its calls, and what its removal assumes."""

    records: tuple[OverheadKind, ...]
    calls: str
    assumes: str
    low_ratio: float


def loading_detection(view: View, wanted: npt.NDArray[np.bool_], loading: Loading) -> Detection | None:
    """Claim the idle time that the wanted calls and the driver's own records of these kinds cause."""
    blocked = claim_blocked_by(view, wanted)
    overheads = view.find(Overheads)
    found = Overheads.empty()
    if overheads is not None:
        rows = overhead_rows(view, *loading.records)
        found = overheads.take(rows[~_queue_was_full(view, overheads, rows)])
    claims = Claims.joined((blocked, claim_inside(view, found, found.thread), *_lead_lost(view, found)))
    if not len(claims):
        return None

    def facts(left: RowArray) -> tuple[Fact, ...]:
        under_calls = left[left < len(blocked)]
        return (
            *(call_facts(view, claims, loading.calls)(under_calls) if len(under_calls) else ()),
            *_record_facts(found),
        )

    return Detection(
        claims=claims, level="supported", assumes=loading.assumes, low_ratio=loading.low_ratio, facts=facts
    )


def _record_facts(found: Overheads) -> tuple[Fact, ...]:
    if not len(found):
        return ()
    return (
        Fact("records of the driver's loading", len(found), "count", Overheads),
        Fact("host time in them", int((found.end_ns - found.start_ns).sum()), "ns", Overheads),
    )


def _lead_lost(view: View, found: Overheads) -> list[Claims]:
    """Late gaps behind records that held the launching thread beside a busy device, up to the time they took there.

    Without them the thread would have launched that much earlier. It holds until the thread has waited for the device
    or has got well ahead of it, and until the lost time is used up.
    """
    gaps = view.gaps
    late = np.flatnonzero((gaps.thread != NO_ROW) & ~gaps.queued & ~gaps.in_graph)
    device, claims = gaps.at(Gaps.device, late), []
    busy = [window.busy for window in view.windows] if len(found) else []
    for thread in np.unique(found.thread):
        mine = found.take(found.thread == thread)
        for window, worked in zip(view.windows, busy, strict=True):
            gap = late[(gaps.thread[late] == thread) & (device == window.device)]
            if len(gap):
                claims.append(_behind(view, mine, (window, worked), gap))
    return claims


def _behind(view: View, found: Overheads, on: tuple[DeviceWindow, IntervalSet], gap: Int64Array) -> Claims:
    """Claims on these gaps of a device, which worked at those times."""
    gaps, (window, worked) = view.gaps, on
    order = np.argsort(found.end_ns, kind="stable")
    start, end = found.start_ns[order], found.end_ns[order]
    lost = np.concatenate((np.zeros(1, np.int64), np.cumsum(worked.covered(start, end))))
    begins = gaps.at(Gaps.start_ns, gap)
    records = np.searchsorted(end, begins, side="right")  # that had ended before each gap
    length = gaps.at(Gaps.end_ns, gap) - begins
    group, first = np.unique(records, return_index=True)
    budget = np.diff(lost[group], prepend=0)
    used = np.cumsum(length) - length
    of = np.searchsorted(group, records)
    left = np.clip(budget[of] - (used - used[first][of]), 0, length)
    ahead = _host_ahead(view, window, int(gaps.thread[gap[0]]))
    since = np.searchsorted(ahead, end[np.maximum(records - 1, 0)])
    left[(np.searchsorted(ahead, gaps.at(Gaps.host_end_ns, gap), side="right") > since) | (records == 0)] = 0
    return claim_gaps(view, gap[left > 0], begins[left > 0], (begins + left)[left > 0])


def _host_ahead(view: View, window: DeviceWindow, thread: int) -> Int64Array:
    """Times at which the thread had waited for the device, or the device got to work that had lain in its queue."""
    calls, operations = view.calls, view.operations
    waited = calls.end_ns[(calls.thread == thread) & is_one_of(calls.kind, SYNCS)]
    rows = np.arange(window.first, window.after)
    rows = rows[view.launch[rows] != NO_ROW]
    call = view.launch[rows]
    queued = (calls.thread[call] == thread) & (operations.start_ns[rows] - calls.end_ns[call] >= CATCH_UP_NS)
    return np.sort(np.concatenate((waited, operations.start_ns[rows[queued]])))


def _queue_was_full(view: View, overheads: Overheads, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Unnamed records inside a launch call beside a device at work: the thread waited for room in a queue."""
    calls = view.calls
    full = np.zeros(len(rows), np.bool_)
    if not len(rows):
        return full
    start, end = overheads.start_ns[rows], overheads.end_ns[rows]
    for window in view.windows:
        full |= window.busy.covered(start, end) == end - start
    launches = CallIndex(calls, np.flatnonzero(is_one_of(calls.kind, LAUNCHES) & calls.outer))
    launching = np.zeros(len(rows), np.bool_)
    launching[launches.overlapping(overheads.thread[rows], start, end)[0]] = True
    return np.asarray(full & launching & (overheads.kind[rows] == OverheadKind.UNNAMED))


def overhead_rows(view: View, *kinds: OverheadKind) -> Int64Array:
    """Rows of the overhead records of these kinds; none when the table was not collected."""
    overheads = view.find(Overheads)
    if overheads is None:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.isin(overheads.kind, kinds))
