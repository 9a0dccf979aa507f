"""init.graph: a CUDA graph is captured, instantiated or updated while the device is idle.

Between the begin and the end of a stream capture the thread issues launches that only record: nothing reaches the
device.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.events import ApiCalls, Span
from stallscope.model.experiments import Experiment
from stallscope.timeline.calls import CallKind, HostCalls
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.graphs import first_replays
from stallscope.waits.hostspans import claim_inside

BEGINS = r"BeginCapture"
ENDS = r"EndCapture"

META = RuleMeta(
    id="init.graph",
    title="A CUDA graph is built while the device waits",
    layer="idle",
    needs=(ApiCalls,),
)

EXPERIMENTS = (
    Experiment(
        title="Build the graph once",
        change="Capture before the measured part and replay; for several shapes keep one graph a bucket",
        apply=("graph = capture(step)  # once", "graph.replay()  # every step"),
        measure=measure(),
        refuted_if="no capture or instantiation is left in the steps and the step takes as long",
        numerics="bit-identical",
    ),
    Experiment(
        title="Update instead of instantiating again",
        change="Change only the parameters of the executable graph when the topology stays the same",
        apply=("cudaGraphExecKernelNodeSetParams(exec, node, &params);",),
        measure=measure("-- ./program"),
        refuted_if="cudaGraphInstantiate is gone from the loop and the iteration takes as long",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the idle time under captures, under the calls that build or update graphs, and under first launches."""
    calls = view.calls
    rows = np.flatnonzero((calls.kind == CallKind.GRAPH_BUILD) & calls.outer)
    # Others build for devices that nobody traced.
    rows = rows[np.isin(calls.at(HostCalls.process, rows), view.operations.process)]
    if not len(rows):
        return None
    captured = _capture_ends(view, rows)
    uploads = first_replays(view)
    spans = Span.of(
        start_ns=np.concatenate((calls.start_ns[rows], calls.start_ns[uploads])),
        end_ns=np.concatenate((np.maximum(calls.end_ns[rows], captured), calls.end_ns[uploads])),
    )
    claims = claim_inside(view, spans, np.concatenate((calls.thread[rows], calls.thread[uploads])))
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported",
        assumes="the graph is built before the measured part",
        low_ratio=0.8,
        facts=(
            Fact("calls that capture, instantiate or update a graph", len(rows), "count", ApiCalls),
            Fact("stream captures", int((captured > 0).sum()), "count", ApiCalls),
        ),
    )


def _capture_ends(view: View, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """For every call that begins a capture: when the next end-of-capture call of the thread returns; else 0."""
    calls = view.calls
    begins = view.names.matching(BEGINS)[calls.at(HostCalls.name, rows)]
    ends = np.flatnonzero(view.names.matching(ENDS)[calls.at(HostCalls.name, rows)])
    if not len(ends):
        return np.zeros(len(rows), np.int64)
    position = np.searchsorted(ends, np.arange(len(rows)))
    closing = rows[ends[np.minimum(position, len(ends) - 1)]]
    same = (position < len(ends)) & (calls.thread[closing] == calls.thread[rows])
    return np.where(begins & same, calls.end_ns[closing], 0)


RULE = Rule(META, detect, EXPERIMENTS)
