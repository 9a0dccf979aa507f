"""init.lazy_load: modules and kernels are loaded at first use, inside the window."""

from __future__ import annotations

import polars as pl

from stallscope.model.events import ApiCalls, OverheadKind, Overheads
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.waits.base import Claims, Detection, Rule, RuleMeta, View, measure
from stallscope.waits.blocking import call_facts, claim_blocked_by
from stallscope.waits.hostspans import claim_inside
from stallscope.waits.loading import loads_forever, overhead_rows

META = RuleMeta(
    id="init.lazy_load",
    title="GPU code is loaded at first use, inside the measured window",
    layer="idle",
    needs=(ApiCalls,),
    uses=(Overheads,),
)

EXPERIMENTS = (
    Experiment(
        title="Load eagerly, or warm up",
        change="Load all modules at start, or run one step before measuring or serving",
        apply=("CUDA_MODULE_LOADING=EAGER",),
        measure=measure(),
        refuted_if="the loading calls move before the first step and the step takes as long",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time under these calls and under the driver's own records of it."""
    claims = claim_blocked_by(view, (view.calls.kind == CallKind.MODULE_LOAD) & ~loads_forever(view))
    overheads = view.find(Overheads)
    if overheads is not None:
        found = overheads.take(overhead_rows(view, OverheadKind.MODULE_LOADING, OverheadKind.LAZY_LOADING))
        claims = Claims(pl.concat([claims.frame, claim_inside(view, found, found.thread).frame]))
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported",
        assumes="code is loaded before the measured part",
        low_ratio=0.8,
        facts=call_facts(view, claims, "module and kernel loading calls"),
    )


RULE = Rule(META, detect, EXPERIMENTS)
