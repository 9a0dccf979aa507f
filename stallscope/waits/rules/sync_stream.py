"""sync.stream: the host waits for a stream (cudaStreamSynchronize).

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
    id="sync.stream",
    title="The host waits for a stream between launches",
    layer="idle",
    needs=(ApiCalls,),
    uses=(Copies,),
)

EXPERIMENTS = (
    Experiment(
        title="Keep the result on the device",
        change="Replace the wait by an event wait between streams, or read results once every N steps",
        apply=("consumer_stream.wait_stream(producer_stream)",),
        measure=measure(),
        refuted_if="the wait is gone from the loop and the device is idle as long as before",
        numerics="bit-identical",
        effort="lines",
    ),
    Experiment(
        title="Find who synchronizes",
        change="Let torch name the line that synchronizes",
        apply=("torch.cuda.set_sync_debug_mode('warn')",),
        measure=measure(),
        refuted_if="no warning names a line inside the loop (then the call comes from another library)",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time inside and behind these waits."""
    return sync_detection(view, CallKind.SYNC_STREAM, "cudaStreamSynchronize")


RULE = Rule(META, detect, EXPERIMENTS)
