"""copy.blocking: the device is idle while the host is inside a synchronous copy call, or behind it."""

from __future__ import annotations

from stallscope.model.events import ApiCalls, Copies
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.timeline.intervals import is_one_of
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import blocked_detection, claim_blocked_by
from stallscope.waits.readbacks import scalar_calls

META = RuleMeta(
    id="copy.blocking",
    title="The host blocks in copy calls while the device is idle",
    layer="idle",
    needs=(ApiCalls,),
    uses=(Copies,),
)

EXPERIMENTS = (
    Experiment(
        title="Make the copies asynchronous",
        change="Pinned memory with non_blocking=True (or cudaMemcpyAsync), so that the thread returns at once",
        apply=("x = x.pin_memory()  # once, outside the loop", "y = x.to('cuda', non_blocking=True)"),
        measure=measure(),
        refuted_if="the copy calls return in microseconds and the device is idle as long as before",
        numerics="bit-identical",
    ),
    Experiment(
        title="Batch many small copies into one",
        change="Pack small tensors into one buffer and copy it once (weights: load to pinned memory, then one pass)",
        apply=("torch._foreach_copy_(device_tensors, host_tensors, non_blocking=True)",),
        measure=measure(),
        refuted_if="the number of copy calls falls and the idle time around them does not",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time that synchronous and pageable copy calls cause (a scalar read-back is sync.scalar)."""
    wanted = is_one_of(view.calls.kind, (CallKind.COPY_BLOCKING, CallKind.COPY))
    wanted[scalar_calls(view)] = False
    assumes = "the copies become asynchronous and the thread launches on while they run"
    return blocked_detection(view, claim_blocked_by(view, wanted), "copy calls", assumes)


RULE = Rule(META, detect, EXPERIMENTS)
