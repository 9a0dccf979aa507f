"""env.profiler_overhead: the profiler's own work on the launching thread."""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, OverheadKind, Overheads
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind
from stallscope.timeline.gaps import Gaps
from stallscope.waits.base import Claims, Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_gaps
from stallscope.waits.graphs import first_replays
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
    """Claim late gaps under overhead records of the launching thread and under graph launches traced node by node."""
    overheads = view[Overheads]
    recorded = overheads.take(overhead_rows(view, OverheadKind.PROFILER))
    own = claim_inside(view, recorded, recorded.thread)
    replays = _traced_replays(view)
    claims = Claims.joined((own, replays))
    if not len(claims):
        return None
    facts = [Fact("overhead records on launching threads", len(own), "count", Overheads)]
    if len(replays):
        facts.append(Fact("graph launches slowed by node-level tracing", len(replays), "count", ApiCalls))
    return Detection(
        claims=claims,
        level="supported" if len(own) else "indicated",
        assumes="gone without the profiler; it is no cost of the program",
        facts=tuple(facts),
        caveats=("Node-level graph tracing instruments every node: measure replays with --cuda-graph-trace=graph.",)
        if len(replays)
        else (),
    )


def _traced_replays(view: View) -> Claims:
    """From a replay's launch call to its first node, in a node-level trace; first launches belong to init.graph."""
    gaps, calls = view.gaps, view.calls
    if view.trace.capture.graph_trace != "node" or not len(calls):
        return Claims.empty()
    launch = gaps.read("launch")
    launched = (launch != NO_ROW) & ~gaps.queued & ~gaps.in_graph
    launched &= calls.kind[np.maximum(launch, 0)] == CallKind.GRAPH_LAUNCH
    launched &= ~np.isin(launch, first_replays(view))
    gap = np.flatnonzero(launched)
    return claim_gaps(view, gap, gaps.at(Gaps.host_end_ns, gap), gaps.at(Gaps.end_ns, gap))


RULE = Rule(META, detect, EXPERIMENTS)
