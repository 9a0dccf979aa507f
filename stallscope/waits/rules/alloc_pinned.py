"""alloc.pinned: host memory pinned or unpinned between launches.

cudaHostAlloc, cudaHostRegister and their frees take a lock in the driver that every other call of the process needs: it
also stalls a launching thread that pins nothing itself.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind, HostCalls, lasting
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import union
from stallscope.waits.base import Claims, Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import call_facts, claim_blocked
from stallscope.waits.claims import claim_gaps
from stallscope.waits.hostspans import cut

CONTENDED_NS = 100_000
"""A pinning call of another thread must last this long to explain a gap of this thread."""

META = RuleMeta(
    id="alloc.pinned",
    title="Host memory is pinned while the device waits",
    layer="idle",
    needs=(ApiCalls,),
)

EXPERIMENTS = (
    Experiment(
        title="Pin once, reuse the buffers",
        change="Allocate the pinned buffers before the loop and copy into them; no .pin_memory() in the step",
        apply=("buffer = torch.empty(shape, pin_memory=True)  # once", "buffer.copy_(batch)"),
        measure=measure(),
        refuted_if="no pinning call is left in the steps and the device is idle as long as before",
        numerics="bit-identical",
    ),
    Experiment(
        title="Let torch keep and split its pinned pool",
        change="Background threads and power-of-two blocks keep cudaHostAlloc out of the steady state",
        apply=("PYTORCH_ALLOC_CONF=pinned_use_background_threads:True",),
        measure=measure(),
        refuted_if="cudaHostAlloc calls stop after warm-up and the step takes as long",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim idle time that pinning calls cause on their own thread, and what they hold up on the launching thread."""
    own = claim_blocked(view, CallKind.ALLOC_PINNED)
    others = _held_up(view)
    if not len(own) and not len(others):
        return None
    claims = Claims.joined((own, others))
    return Detection(
        claims=claims,
        level="supported" if len(own) else "indicated",
        assumes="nothing is pinned in the steady state",
        facts=call_facts(view, claims, "pinning calls"),
        caveats=("Some of these calls run on other threads; they are blamed for the lock they hold.",)
        if len(others)
        else (),
    )


def _held_up(view: View) -> Claims:
    """Parts of late gaps in which the launch was held up while other threads of the process pinned memory.

    One pinning thread explains only a launch call that does not return; several fight for the lock and explain the gap.
    """
    gaps, calls = view.gaps, view.calls
    rows = lasting(calls, CallKind.ALLOC_PINNED, CONTENDED_NS)
    process = view.operations.process[gaps.after] if len(rows) else gaps.after[:0]
    parts = []
    caller = calls.at(HostCalls.process, rows)
    for owner in np.unique(caller):
        mine = rows[caller == owner]
        late = np.flatnonzero(~gaps.queued & ~gaps.in_graph & (process == owner))
        launch = gaps.at(Gaps.launch, late)
        known = np.maximum(launch, 0)
        begin, end = gaps.at(Gaps.start_ns, late), gaps.at(Gaps.end_ns, late)
        if len(np.unique(calls.thread[mine])) == 1:
            begin = np.clip(calls.start_ns[known], begin, end)
            end = np.where(launch == NO_ROW, begin, np.clip(calls.end_ns[known], begin, end))
        row, start, stop = cut(begin, end, union(calls.start_ns[mine], calls.end_ns[mine]))
        longest = mine[np.argmax(calls.end_ns[mine] - calls.start_ns[mine])]
        parts.append(claim_gaps(view, late[row], start, stop, np.full(len(row), longest)))
    return Claims.joined(parts)


RULE = Rule(META, detect, EXPERIMENTS)
