"""launch.drain: the next operation was already queued; what remains is the device's own launch latency.

Between two kernels of a stream, or two nodes of a graph replay, the device needs about a microsecond. It is no host
wait, and stays a note.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, Kernels
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_whole_gaps

DRAIN_NS = 10_000
"""Longest gap that device-side launch latency explains (p99 of back-to-back kernels on an H100 is 9.4 µs)."""
GRAPH_DRAIN_NS = 50_000
"""Longest gap between two nodes of one replay that is still the device's own."""

META = RuleMeta(
    id="launch.drain",
    title="Work was queued; the device needed a moment between operations",
    layer="idle",
    needs=(ApiCalls, Kernels),
    severity="note",
)

EXPERIMENTS = (
    Experiment(
        title="Overlap the end of one kernel with the start of the next",
        change="Programmatic dependent launch (compute capability 9.0+), or fewer and longer kernels",
        apply=("cudaLaunchAttributeProgrammaticStreamSerialization + cudaGridDependencySynchronize()",),
        measure=measure("-- ./program"),
        refuted_if="kernel rows of the stream overlap and the step takes as long",
        numerics="bit-identical",
        effort="rewrite",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim short gaps before queued operations and between the nodes of a replay."""
    gaps = view.gaps
    length = gaps.read("end_ns") - gaps.read("start_ns")
    short = np.flatnonzero((gaps.queued & (length <= DRAIN_NS)) | (gaps.in_graph & (length <= GRAPH_DRAIN_NS)))
    if not len(short):
        return None
    return Detection(
        claims=claim_whole_gaps(view, short),
        level="supported",
        assumes="not a host wait; only fewer or overlapping kernels shorten it",
        facts=(
            Fact("gaps with the next operation already queued", len(short), "count", Kernels),
            Fact("median gap", float(np.median(length[short])), "ns", Kernels),
        ),
    )


RULE = Rule(META, detect, EXPERIMENTS)
