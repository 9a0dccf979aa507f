"""dep.host_callback: a stream waits for a host function (cudaLaunchHostFunc, a graph's host node)."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import HostCallbacks, Kernels
from stallscope.model.experiments import Experiment
from stallscope.timeline.intervals import union
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, claim_gaps, measure
from stallscope.waits.hostspans import cut

META = RuleMeta(
    id="dep.host_callback",
    title="A stream waits for a host function",
    layer="idle",
    needs=(Kernels, HostCallbacks),
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
    """Claim idle time under host functions of the successor's process."""
    callbacks, gaps, operations = view[HostCallbacks], view.gaps, view.operations
    claims, count = [], 0
    process = operations.process[gaps.after]
    for owner in np.unique(callbacks.process):
        mine = np.flatnonzero(process == owner)
        ran = callbacks.process == owner
        row, start, end = cut(
            gaps.start_ns[mine], gaps.end_ns[mine], union(callbacks.start_ns[ran], callbacks.end_ns[ran])
        )
        claims.append((mine[row], start, end))
        count += int(ran.sum())
    if not any(len(start) for _, start, _ in claims):
        return None
    gap, start, end = (np.concatenate(column) for column in zip(*claims, strict=True))
    return Detection(
        claims=claim_gaps(view, gap, start, end),
        level="supported",
        assumes="the host function no longer blocks the stream",
        facts=(Fact("host functions run by streams", count, "count", HostCallbacks),),
    )


RULE = Rule(META, detect, EXPERIMENTS)
