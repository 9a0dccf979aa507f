"""alloc.map: physical memory is mapped or unmapped (cuMemCreate, cuMemMap, cuMemUnmap) on the path of the step."""

from __future__ import annotations

from stallscope.model.events import ApiCalls
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import blocked_detection, claim_blocked

META = RuleMeta(
    id="alloc.map",
    title="Virtual memory is mapped on the path of the step",
    layer="idle",
    needs=(ApiCalls,),
)

EXPERIMENTS = (
    Experiment(
        title="Map the next chunk ahead of time",
        change="Map the next chunk from a side thread before it is needed, or map larger chunks less often",
        apply=("grow(pool, chunk=64 << 20)  # in a helper thread",),
        measure=measure(),
        refuted_if="no mapping call is left on the launching thread and the device is idle as long as before",
        numerics="bit-identical",
        effort="lines",
    ),
    Experiment(
        title="Let torch grow its segments",
        change="Expandable segments map memory once and keep it",
        apply=("PYTORCH_ALLOC_CONF=expandable_segments:True",),
        measure=measure(),
        refuted_if="mapping calls stop after warm-up and the step takes as long",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time these calls cause."""
    assumes = "the mapping happens before the step needs it"
    return blocked_detection(view, claim_blocked(view, CallKind.ALLOC_MAP), "cuMem* mapping calls", assumes)


RULE = Rule(META, detect, EXPERIMENTS)
