"""dep.other_device: a queued operation waits for work on another device while this one is idle."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, Kernels, Syncs
from stallscope.model.experiments import Experiment
from stallscope.timeline.gaps import LATENCY_NS, Gaps
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.held import claim_held, waits_for_event

META = RuleMeta(
    id="dep.other_device",
    title="Queued work waits for another device",
    layer="idle",
    needs=(ApiCalls, Kernels, Syncs),
)

EXPERIMENTS = (
    Experiment(
        title="Give the waiting device other work",
        change="Interleave micro-batches so that each device has work while the other computes; balance the stages",
        apply=("num_microbatches=8  # pipeline schedule",),
        measure=measure(),
        refuted_if="both devices have queued work and the gaps stay as long",
        numerics="fp64-gate",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim event waits that end right behind the end of an operation on another device."""
    gaps, operations = view.gaps, view.operations
    held = view.held_gaps
    if not len(held) or len(np.unique(operations.device)) < 2:
        return None
    held = held[waits_for_event(view, held)]
    released = np.zeros(len(held), np.bool_)
    waiting = gaps.at(Gaps.device, held)
    for device in np.unique(waiting):
        ends = np.sort(operations.end_ns[operations.device != device])
        mine = waiting == device
        until = gaps.at(Gaps.end_ns, held[mine])
        released[mine] = np.searchsorted(ends, until, side="right") > np.searchsorted(ends, until - LATENCY_NS)
    held = held[released]
    if not len(held):
        return None
    return Detection(
        claims=claim_held(view, held),
        level="indicated",
        assumes="the other device finishes earlier or this one has other work meanwhile",
        low_ratio=0.0,
        facts=(Fact("event waits released by another device", len(held), "count", Syncs),),
    )


RULE = Rule(META, detect, EXPERIMENTS)
