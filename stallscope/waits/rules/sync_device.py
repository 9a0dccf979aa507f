"""sync.device: the host waits for the whole device (cudaDeviceSynchronize, cuCtxSynchronize).

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
    id="sync.device",
    title="The host waits for the whole device between launches",
    layer="idle",
    needs=(ApiCalls,),
    uses=(Copies,),
)

EXPERIMENTS = (
    Experiment(
        title="Remove the device-wide wait from the loop",
        change="Delete the synchronization, or wait for the one event whose result the host needs",
        apply=(
            "event.record(stream); …; event.synchronize()",
            "unset CUDA_LAUNCH_BLOCKING",
        ),
        measure=measure(),
        refuted_if="the call is gone from the loop and the device is idle as long as before",
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
    return sync_detection(view, CallKind.SYNC_DEVICE, "cudaDeviceSynchronize")


RULE = Rule(META, detect, EXPERIMENTS)
