"""alloc.retry: a caching allocator ran out of memory, gave its cached blocks back and allocated again.

The pattern on one thread: an allocation that fails with out-of-memory, a burst of frees, and an allocation that works.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.timeline.intervals import Int64Array, is_one_of
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import claim_blocked_by

OUT_OF_MEMORY = 2
MIN_FREES = 3

META = RuleMeta(
    id="alloc.retry",
    title="The allocator runs out of memory, frees its cache and tries again",
    layer="idle",
    needs=(ApiCalls,),
)

EXPERIMENTS = (
    Experiment(
        title="Let segments grow instead of fragmenting",
        change="Expandable segments map memory behind one address range, so that odd sizes reuse it",
        apply=("PYTORCH_ALLOC_CONF=expandable_segments:True",),
        measure=measure(),
        refuted_if="torch.cuda.memory_stats()['num_alloc_retries'] still rises in the steady state",
        numerics="bit-identical",
        effort="flag",
    ),
    Experiment(
        title="Leave headroom",
        change="A smaller batch or activation checkpointing; remove torch.cuda.empty_cache() from the loop",
        apply=("torch.cuda.memory_stats()['num_alloc_retries']",),
        measure=measure(),
        refuted_if="no retry is left and the step takes as long",
        numerics="fp64-gate",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time that the calls of fail → free … free → allocate chains cause."""
    members, retries = _chains(view)
    if not retries:
        return None
    wanted = np.zeros(len(view.calls), np.bool_)
    wanted[members] = True
    claims = claim_blocked_by(view, wanted)
    if not len(claims):
        return None
    frees = int((view.calls.kind[members] == CallKind.FREE).sum())
    return Detection(
        claims=claims,
        level="supported",
        assumes="memory suffices, or segments can grow, so that no allocation fails in the steady state",
        facts=(
            Fact("allocations that failed with out of memory", retries, "count", ApiCalls),
            Fact("frees behind them", frees, "count", ApiCalls),
        ),
    )


def _chains(view: View) -> tuple[Int64Array, int]:
    """Rows of the calls in all chains, and how many chains there are."""
    calls = view.calls
    rows = np.flatnonzero(is_one_of(calls.kind, (CallKind.ALLOC, CallKind.FREE)) & calls.outer)
    failed = np.flatnonzero((calls.kind[rows] == CallKind.ALLOC) & (calls.result[rows] == OUT_OF_MEMORY))
    works = np.flatnonzero((calls.kind[rows] == CallKind.ALLOC) & (calls.result[rows] != OUT_OF_MEMORY))
    position = np.searchsorted(works, failed)
    failed, position = failed[position < len(works)], position[position < len(works)]
    chains = [
        rows[first : last + 1]
        for first, last in zip(failed.tolist(), works[position].tolist(), strict=True)
        if last - first > MIN_FREES and calls.thread[rows[first]] == calls.thread[rows[last]]
    ]
    return (np.unique(np.concatenate(chains)), len(chains)) if chains else (np.empty(0, np.int64), 0)


RULE = Rule(META, detect, EXPERIMENTS)
