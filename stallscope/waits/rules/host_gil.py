"""host.gil: the launching thread waits for Python's global interpreter lock."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, GilSpans
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.hostspans import claim_host_spans

META = RuleMeta(
    id="host.gil",
    title="The launching thread waits for the Python GIL",
    layer="idle",
    needs=(ApiCalls, GilSpans),
)

EXPERIMENTS = (
    Experiment(
        title="Take the other Python thread out of the process",
        change="Move the work of the thread that holds the lock (logging, metrics, collating) into a process",
        apply=("multiprocessing.Process(target=worker)", "DataLoader(..., num_workers=8)  # processes, not threads"),
        measure=measure(),
        refuted_if="no 'Waiting for GIL' is left on the launching thread and the device is idle as long as before",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the host time of late gaps in which the launching thread waited for the lock."""
    gil = view[GilSpans]
    waiting = gil.take(np.flatnonzero(gil.waiting))
    claims = claim_host_spans(view, waiting, waiting.thread)
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported",
        assumes="no other Python thread holds the lock while this one launches",
        facts=(
            Fact("waits for the GIL on all threads", len(waiting), "count", GilSpans),
            Fact("idle time in such waits", int((claims.end_ns - claims.start_ns).sum()), "ns", GilSpans),
        ),
        caveats=("The GIL trace itself slows lock hand-over; compare shares, not absolute times.",),
    )


RULE = Rule(META, detect, EXPERIMENTS)
