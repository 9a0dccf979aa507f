"""dep.host_callback: a stream waits for a host function (cudaLaunchHostFunc, a graph's host node)."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, HostCallbacks, Kernels, Syncs
from stallscope.model.experiments import Experiment
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import union
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_gaps
from stallscope.waits.held import called_between, claim_held, waits_for_event
from stallscope.waits.hostspans import cut

ASSUMES = "the host function no longer blocks the stream"
SUBMITS = r"^(cuda|cu|hip)LaunchHostFunc|^(cuda|cu|hip)StreamAddCallback"
MIN_HELD = 3
MOST = 0.5
"""A host function holds its stream every time. One of another stream coincides with a standstill now and then."""
INFERRED = (
    "Inferred: this capture has no host functions, only the calls that submit them, and these do not name a stream. "
    "nsys 2025.6 and newer record when each function ran."
)

META = RuleMeta(
    id="dep.host_callback",
    title="A stream waits for a host function",
    layer="idle",
    needs=(ApiCalls, Kernels),
    uses=(HostCallbacks, Syncs),
)

EXPERIMENTS = (
    Experiment(
        title="Take the host function off the stream",
        change="Let a host thread wait for an event and do the work, so that the stream runs on",
        apply=("cudaEventRecord(e, stream); /* thread: */ cudaEventSynchronize(e); work();",),
        measure=measure("-- ./program"),
        refuted_if="the stream no longer runs the host function and the device is idle as long as before",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim idle time under recorded host functions, or, where none are recorded, behind calls that submit them."""
    return _inferred(view) if view.find(HostCallbacks) is None else _recorded(view)


def _recorded(view: View) -> Detection | None:
    callbacks, gaps, operations = view[HostCallbacks], view.gaps, view.operations
    claims, count = [], 0
    process = operations.process[gaps.after]
    for owner in np.unique(callbacks.process):
        mine = np.flatnonzero(process == owner)
        ran = callbacks.process == owner
        row, start, end = cut(
            gaps.at(Gaps.start_ns, mine),
            gaps.at(Gaps.end_ns, mine),
            union(callbacks.start_ns[ran], callbacks.end_ns[ran]),
        )
        claims.append((mine[row], start, end))
        count += int(ran.sum())
    if not any(len(start) for _, start, _ in claims):
        return None
    gap, start, end = (np.concatenate(column) for column in zip(*claims, strict=True))
    return Detection(
        claims=claim_gaps(view, gap, start, end),
        level="supported",
        assumes=ASSUMES,
        facts=(Fact("host functions run by streams", count, "count", HostCallbacks),),
    )


def _inferred(view: View) -> Detection | None:
    """Held gaps between two operations of one stream, with a host function submitted between the two.

    A host function that another stream runs can lie between them as well, but does not hold them: in most of the
    places where one lies between operations that were queued in time, the stream must have stood still.
    """
    submits = view.names.matching(SUBMITS)[view.calls.read("name")]
    if not submits.any():
        return None
    order, operations, gaps = view.stream_order, view.operations, view.gaps
    elder = order.predecessor
    between = called_between(view, submits)
    held = view.held_gaps
    held = held[between[gaps.after[held]] & (gaps.before[held] == elder[gaps.after[held]])]
    if view.find(Syncs) is not None and len(held):
        held = held[~waits_for_event(view, held)]
    if len(held) < MIN_HELD:
        return None
    queued = np.flatnonzero(between & (view.launch != NO_ROW))
    queued = queued[view.calls.end_ns[view.launch[queued]] <= operations.end_ns[elder[queued]]]
    stream, streams = order.of_row[gaps.after[held]], order.of_row[queued]
    times, could = (np.bincount(of, minlength=len(order.keys)) for of in (stream, streams))
    held = held[(times >= MOST * could)[stream]]
    if len(held) < MIN_HELD:
        return None
    return Detection(
        claims=claim_held(view, held),
        level="indicated",
        assumes=ASSUMES,
        facts=(Fact("queued operations held behind the submission of a host function", len(held), "count", ApiCalls),),
        caveats=(INFERRED,),
    )


RULE = Rule(META, detect, EXPERIMENTS)
