"""dep.stream_wait: a queued operation waits for an event of another stream while the device is idle."""

from __future__ import annotations

from stallscope.model.columns import Table
from stallscope.model.events import ApiCalls, Kernels, Syncs
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.held import claim_held, held_gaps, waits_for_event

UNRECORDED = (
    "Neither the stream nor the event of the wait is recorded: nsys with --trace=cuda or torch.profiler's "
    "enable_cuda_sync_events shows both, and a longer capture what had been submitted before it began."
)

META = RuleMeta(
    id="dep.stream_wait",
    title="Queued work waits for an event while the device is idle",
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
    """Claim gaps before queued operations with a stream-wait-event in front of them."""
    held = held_gaps(view)
    held = held[waits_for_event(view, held)] if len(held) else held
    if not len(held):
        return None
    recorded = view.find(Syncs) is not None
    source: type[Table] = Syncs if recorded else ApiCalls
    return Detection(
        claims=claim_held(view, held),
        level="supported" if recorded else "indicated",
        assumes="the event is stricter than the data needs; a true dependency makes this zero",
        low_ratio=0.0,
        facts=(Fact("gaps before an operation that waited for an event", len(held), "count", source),),
        caveats=() if recorded else (UNRECORDED,),
    )


RULE = Rule(META, detect, EXPERIMENTS)
