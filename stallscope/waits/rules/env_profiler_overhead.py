"""env.profiler_overhead: the profiler's own work on the launching thread."""

from __future__ import annotations

from stallscope.model.events import ApiCalls, OverheadKind, Overheads
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.hostspans import claim_inside
from stallscope.waits.loading import overhead_rows

META = RuleMeta(
    id="env.profiler_overhead",
    title="The profiler itself held the launching thread",
    layer="idle",
    needs=(ApiCalls, Overheads),
    severity="note",
)

EXPERIMENTS = (
    Experiment(
        title="Capture less",
        change="Capture a few steady steps only, without memory-usage, fault or node-level tracing",
        apply=("nsys profile --capture-range=cudaProfilerApi --capture-range-end=stop …",),
        measure=measure(),
        refuted_if="the step is as slow without the profiler",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim late gaps under overhead records of the launching thread."""
    overheads = view[Overheads]
    found = overheads.take(overhead_rows(view, OverheadKind.PROFILER))
    claims = claim_inside(view, found, found.thread)
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported",
        assumes="gone without the profiler; it is no cost of the program",
        facts=(Fact("overhead records on launching threads", len(claims), "count", Overheads),),
    )


RULE = Rule(META, detect, EXPERIMENTS)
