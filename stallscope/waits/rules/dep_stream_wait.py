"""dep.stream_wait: a queued operation waits for an event of another stream while the device is idle."""

from __future__ import annotations

from stallscope.model.events import ApiCalls, Kernels, Syncs
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, claim_gaps, measure
from stallscope.waits.held import held_gaps, waits_for_event

META = RuleMeta(
    id="dep.stream_wait",
    title="Queued work waits for an event while the device is idle",
    layer="idle",
    needs=(ApiCalls, Kernels, Syncs),
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
    gaps = view.gaps
    return Detection(
        claims=claim_gaps(view, held, gaps.start_ns[held], gaps.end_ns[held]),
        level="supported",
        assumes="the event is stricter than the data needs; a true dependency makes this zero",
        low_ratio=0.0,
        facts=(Fact("gaps before an operation that waited for an event", len(held), "count", Syncs),),
    )


RULE = Rule(META, detect, EXPERIMENTS)
