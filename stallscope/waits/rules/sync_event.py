"""sync.event: the host waits for an event (cudaEventSynchronize).

The wait itself is free while the device works. What costs is the idle time that follows the drain: the call
returns, and only then the thread prepares and launches the next operation.
"""

from __future__ import annotations

from stallscope.model.events import ApiCalls, Copies
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.host_syncs import sync_detection

META = RuleMeta(
    id="sync.event",
    title="The host waits for an event between launches",
    layer="idle",
    needs=(ApiCalls,),
    uses=(Copies,),
)

EXPERIMENTS = (
    Experiment(
        title="Wait later, or on the device",
        change="Let a stream wait for the event, or move the host wait behind the next step's launches",
        apply=("stream.wait_event(event)",),
        measure=measure(),
        refuted_if="the host wait is gone from between the launches and the device is idle as long as before",
        numerics="bit-identical",
        effort="lines",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time inside and behind these waits."""
    return sync_detection(view, CallKind.SYNC_EVENT, "cudaEventSynchronize")


RULE = Rule(META, detect, EXPERIMENTS)
