"""alloc.pool_trim: a stream-ordered pool gives its memory back at every synchronization and maps it again.

The release threshold of a pool is 0 by default: what is free when the host synchronizes goes back to the driver, and
the next cudaMallocAsync has to map memory again, which takes hundreds of microseconds instead of one.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, MemoryEvents
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind, lasting
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import call_facts, claim_blocked_by

SLOW_NS = 50_000
"""A stream-ordered allocation that only takes from its pool returns within microseconds; one that maps does not."""

META = RuleMeta(
    id="alloc.pool_trim",
    title="A memory pool shrinks and grows again around synchronizations",
    layer="idle",
    needs=(ApiCalls,),
    uses=(MemoryEvents,),
)

EXPERIMENTS = (
    Experiment(
        title="Keep the pool's memory",
        change="Set the release threshold of the pool to UINT64_MAX",
        apply=("uint64_t keep = UINT64_MAX; cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);",),
        measure=measure("-- ./program"),
        refuted_if="cudaMallocAsync returns in microseconds and the device is idle as long as before",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time that slow stream-ordered allocations cause."""
    calls = view.calls
    slow = np.zeros(len(calls), np.bool_)
    slow[lasting(calls, CallKind.ALLOC_ASYNC, SLOW_NS)] = True
    claims = claim_blocked_by(view, slow)
    if not len(claims):
        return None
    shrinks = _shrinks(view)
    facts = call_facts(view, claims, f"stream-ordered allocations of at least {SLOW_NS // 1000} µs")
    return Detection(
        claims=claims,
        level="supported" if shrinks else "indicated",
        assumes="the pool keeps its memory and allocations come out of it",
        facts=lambda rows: (
            *facts(rows),
            *((Fact("times a pool shrank", shrinks, "count", MemoryEvents),) if shrinks else ()),
        ),
        caveats=() if shrinks else ("Pool sizes were not collected (--cuda-memory-usage=true): growth is inferred.",),
    )


def _shrinks(view: View) -> int:
    """How often a pool held less than just before."""
    events = view.find(MemoryEvents)
    if events is None:
        return 0
    rows = np.flatnonzero((events.pool != 0) & (events.pool_bytes >= 0))
    rows = rows[np.lexsort((events.time_ns[rows], events.pool[rows]))]
    size: Int64Array = events.pool_bytes[rows]
    same = np.diff(events.pool[rows]) == 0
    return int((same & (np.diff(size) < 0)).sum())


RULE = Rule(META, detect, EXPERIMENTS)
