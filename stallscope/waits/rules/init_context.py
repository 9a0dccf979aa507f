"""init.context: a CUDA context is created or reset inside the window."""

from __future__ import annotations

from stallscope.model.events import ApiCalls
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import blocked_detection, claim_blocked

META = RuleMeta(
    id="init.context",
    title="A CUDA context is created inside the measured window",
    layer="idle",
    needs=(ApiCalls,),
)

EXPERIMENTS = (
    Experiment(
        title="Initialise before the measured part",
        change="Create the context and run one warm-up step first, or restrict the analysis to the steady part",
        apply=("torch.cuda.init(); model(sample)",),
        measure=measure(),
        refuted_if="the calls happen before the first step and the step takes as long",
        numerics="bit-identical",
        effort="lines",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time these calls cause."""
    assumes = "initialisation happens before the measured part"
    return blocked_detection(view, claim_blocked(view, CallKind.CONTEXT), "context calls", assumes)


RULE = Rule(META, detect, EXPERIMENTS)
