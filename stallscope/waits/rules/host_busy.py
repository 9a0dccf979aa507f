"""host.busy: the launching thread runs something else, outside any CUDA call, before it launches again."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, NvtxRanges
from stallscope.model.experiments import Experiment
from stallscope.timeline.gaps import Gaps
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.bursts import late_launches
from stallscope.waits.claims import claim_gaps

META = RuleMeta(
    id="host.busy",
    title="The launching thread works on the CPU while the device is idle",
    layer="idle",
    needs=(ApiCalls,),
    uses=(NvtxRanges,),
)

EXPERIMENTS = (
    Experiment(
        title="Find the Python code and move it off the launching thread",
        change="Sample the launching thread in the range named above; cache, vectorise or move that work to a worker",
        apply=("py-spy record --native --duration 30 --pid PID -o host.svg",),
        measure=measure(),
        refuted_if="the host work is gone from the launching thread and the device is idle as long as before",
        numerics="bit-identical",
    ),
    Experiment(
        title="Let the host run ahead",
        change="Issue the next step's launches before the host work of this step, so that it runs beside the device",
        apply=("launch(step + 1); host_work(step)",),
        measure=measure(),
        refuted_if="the launches move before the host work and the gaps stay as long",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the gaps behind a stretch of host work longer than a burst allows."""
    _, behind = late_launches(view)
    if not len(behind):
        return None
    gaps = view.gaps
    annotated = view.find(NvtxRanges) is not None
    return Detection(
        claims=claim_gaps(view, behind, gaps.at(Gaps.start_ns, behind), gaps.at(Gaps.late_end_ns, behind)),
        level="supported" if annotated else "indicated",
        assumes="the host work moves off the launching thread or runs beside the device",
        facts=lambda rows: _stretches(view, behind[rows]),
        caveats=(
            "Without OS-runtime or scheduling rows a thread that sleeps looks like one that works: add --trace=osrt.",
        ),
    )


def _stretches(view: View, gap: Int64Array) -> tuple[Fact, ...]:
    gaps = view.gaps
    start = gaps.at(Gaps.start_ns, gap)
    return (
        Fact("gaps behind a stretch of host work", len(gap), "count", ApiCalls),
        Fact("host time before these launches", int((gaps.at(Gaps.host_end_ns, gap) - start).sum()), "ns", ApiCalls),
        Fact("median stretch outside any API call", float(np.median(gaps.at(Gaps.stretch_ns, gap))), "ns", ApiCalls),
    )


RULE = Rule(META, detect, EXPERIMENTS)
