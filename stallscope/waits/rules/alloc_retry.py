"""alloc.retry: a caching allocator ran out of memory, gave its cached blocks back and allocated again.

The pattern on one thread, with no launch in between: an allocation that fails with out-of-memory, a burst of frees, and
an allocation that works. A limit of the allocator's own (PyTorch's memory fraction) is checked without calling CUDA:
then nothing fails, and several cached blocks are freed for each one that is allocated, again and again.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import LAUNCHES, CallKind
from stallscope.timeline.intervals import Int64Array, is_one_of
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import claim_blocked_by

OUT_OF_MEMORY = 2
MIN_FREES = 3
MIN_CHAINS = 3
"""Without a failure: one such burst is the end of a phase of the program, several are its steady state."""
NOT_FAILED = (
    "No allocation failed: the allocator met a limit of its own, or the program returns the cache itself "
    "(torch.cuda.empty_cache()); torch.cuda.memory_stats()['num_alloc_retries'] tells which."
)

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
    """Claim the idle time that the calls of free … free → allocate chains cause, with or without a failure before."""
    chains, failed = _chains(view)
    if not failed and len(chains) < MIN_CHAINS:
        return None
    members = np.unique(np.concatenate(chains))
    wanted = np.zeros(len(view.calls), np.bool_)
    wanted[members] = True
    claims = claim_blocked_by(view, wanted)
    if not len(claims):
        return None
    frees = int((view.calls.kind[members] == CallKind.FREE).sum())
    return Detection(
        claims=claims,
        level="supported" if failed else "indicated",
        assumes="memory suffices, or segments can grow, so that the cache is kept in the steady state",
        facts=(
            Fact("allocations that failed with out of memory", failed, "count", ApiCalls),
            Fact("times a cache was given back before an allocation", len(chains), "count", ApiCalls),
            Fact("frees in them", frees, "count", ApiCalls),
        ),
        caveats=() if failed else (NOT_FAILED,),
    )


def _chains(view: View) -> tuple[list[Int64Array], int]:
    """Rows of the calls of every chain, and how many chains began with a failure.

    A chain ends with an allocation that works. Nothing is launched in between, and fewer blocks are allocated behind
    the frees than were freed: a program that frees and allocates its own buffers anew gets as many as it gave back.
    """
    calls = view.calls
    rows = np.flatnonzero(is_one_of(calls.kind, (CallKind.ALLOC, CallKind.FREE)) & calls.outer)
    if not len(rows):
        return [], 0
    kind, thread = calls.kind[rows], calls.thread[rows]
    launches = np.add.reduceat(is_one_of(calls.kind, LAUNCHES) & calls.outer, rows, dtype=np.int64)
    breaks = (thread[1:] != thread[:-1]) | (launches[:-1] > 0)
    of = np.concatenate((np.zeros(1, np.int64), np.cumsum(breaks)))
    freed = np.bincount(of[kind == CallKind.FREE], minlength=int(of[-1]) + 1)
    edges = np.searchsorted(of, np.arange(len(freed) + 1))
    chains, failures = [], 0
    for part in np.flatnonzero(freed >= MIN_FREES):
        block = np.arange(edges[part], edges[part + 1])
        frees = np.flatnonzero(kind[block] == CallKind.FREE)
        oom = (kind[block] == CallKind.ALLOC) & (calls.result[rows[block]] == OUT_OF_MEMORY)
        works = np.flatnonzero((kind[block] == CallKind.ALLOC) & ~oom)
        works = works[works > frees[0]]
        if not len(works) or len(works) >= len(frees):
            continue
        first = int(np.flatnonzero(oom)[0]) if oom[: frees[0]].any() else int(frees[0])
        failures += int(oom[: works[0]].any())
        chains.append(rows[block[first : works[-1] + 1]])
    return chains, failures


RULE = Rule(META, detect, EXPERIMENTS)
