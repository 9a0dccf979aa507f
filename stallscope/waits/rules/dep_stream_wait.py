"""dep.stream_wait: a queued operation waits for an event of another stream.

The device is idle meanwhile, or busy with a kernel that does not fill it. The second lies beside the ledger, and is
told only of streams that take turns: a single wait behind a busy device is how producers and consumers work.
"""

from __future__ import annotations

from stallscope.model.columns import Table
from stallscope.model.events import ApiCalls, Kernels, Syncs
from stallscope.model.experiments import Experiment
from stallscope.waits.alternation import taking_turns
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.behind import Behind, behind_detection
from stallscope.waits.held import claim_held, waits_for_event

UNRECORDED = (
    "Neither the stream nor the event of the wait is recorded: nsys with --trace=cuda or torch.profiler's "
    "enable_cuda_sync_events shows both, and a longer capture what had been submitted before it began."
)

ASSUMES = "the event is stricter than the data needs; a true dependency makes this zero"

TURNS = (
    "The two streams take turns and never run side by side. If every turn needs the data of the one before, the "
    "dependency is true and one stream would do."
)

META = RuleMeta(
    id="dep.stream_wait",
    title="Queued work waits for an event of another stream",
    layer="idle",
    needs=(ApiCalls, Kernels),
    uses=(Syncs,),
)

EXPERIMENTS = (
    Experiment(
        title="Record the event where the data is ready",
        change="Record right behind the producer, not at the end of its stream's queue, and wait as late as possible",
        apply=(
            "event.record(producer_stream)  # directly behind the producing kernel",
            "consumer_stream.wait_event(event)",
        ),
        measure=measure(),
        refuted_if="the wait is recorded earlier and the consumer starts at the same time (a true dependency)",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim gaps before queued operations with a stream-wait-event in front of them, and turns that streams take."""
    held = view.held_gaps
    held = held[waits_for_event(view, held)] if len(held) else held
    beside = _beside(view)
    if not len(held) and beside is None:
        return None
    recorded = view.find(Syncs) is not None
    source: type[Table] = Syncs if recorded else ApiCalls
    return Detection(
        claims=claim_held(view, held),
        level="supported" if recorded else "indicated",
        assumes=ASSUMES,
        low_ratio=0.0,
        facts=(Fact("gaps before an operation that waited for an event", len(held), "count", source),),
        caveats=() if recorded else (UNRECORDED,),
        beside=beside,
    )


def _beside(view: View) -> Detection | None:
    """Kernels that wait for an event behind a busy device which has room for them."""
    if view.find(Syncs) is None:
        return None
    row, ready = taking_turns(view)
    if not len(row):
        return None
    behind = Behind(
        level="indicated",
        assumes=ASSUMES,
        counted=Fact("kernels held by an event of the other stream", len(row), "count", Syncs),
        table=Kernels,
        caveats=(TURNS,),
    )
    return behind_detection(view, row, ready, behind)


RULE = Rule(META, detect, EXPERIMENTS)
