"""init.context: a CUDA context, or a library that works in it, is set up inside the window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stallscope.model.events import ApiCalls
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import blocked_detection, claim_blocked_by
from stallscope.waits.library_setup import setup_calls

INFERRED = (
    "That a library is set up is told by a few cudaFree calls far longer than any other, with an idle device under "
    "them: the arguments of the calls are not recorded."
)

META = RuleMeta(
    id="init.context",
    title="A CUDA context or library is set up inside the measured window",
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
    """Claim the idle time of calls that create a context, and of cudaFree(0) under which a library loads its code."""
    assumes = "initialisation happens before the measured part"
    wanted = view.calls.kind == CallKind.CONTEXT
    setup = setup_calls(view)
    wanted[setup] = True
    found = blocked_detection(view, claim_blocked_by(view, wanted), "context calls", assumes)
    if found is None or not np.isin(found.claims.call, setup).any():
        return found
    return replace(found, level="indicated", caveats=(INFERRED,))


RULE = Rule(META, detect, EXPERIMENTS)
