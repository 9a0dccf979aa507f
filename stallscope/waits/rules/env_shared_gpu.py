"""env.shared_gpu: another process holds the device while this one's work is queued."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, ContextSwitches, Kernels
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_whole_gaps

META = RuleMeta(
    id="env.shared_gpu",
    title="Processes take turns on the device",
    layer="idle",
    needs=(ApiCalls, Kernels),
    uses=(ContextSwitches,),
    severity="note",
)

EXPERIMENTS = (
    Experiment(
        title="Run alone, or share through MPS",
        change="Give each process its own device or MIG slice, or let both run at once under MPS",
        apply=("nvidia-cuda-mps-control -d",),
        measure=measure(),
        refuted_if="only one process uses the device and the gaps stay",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim gaps at which the device passes from one process to another whose work was queued."""
    gaps, operations = view.gaps, view.operations
    changes = operations.process[gaps.before] != operations.process[gaps.after]
    rows = np.flatnonzero(changes & gaps.queued)
    if not len(rows):
        return None
    switches = view.find(ContextSwitches)
    facts = [Fact("gaps between two processes' work", len(rows), "count", Kernels)]
    if switches is not None:
        facts.append(Fact("context switches", len(switches), "count", ContextSwitches))
    return Detection(
        claims=claim_whole_gaps(view, rows),
        level="supported" if switches is not None and len(switches) else "indicated",
        assumes="the process has the device for itself",
        facts=tuple(facts),
    )


RULE = Rule(META, detect, EXPERIMENTS)
