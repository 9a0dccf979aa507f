"""input.wait: the launching thread waits for its next batch.

Seen as an NVTX range that names the fetching of data (a DataLoader's `__next__`, a range called data, load, fetch, …),
or as OS-runtime rows in which the thread reads files or sockets.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.events import FRAMEWORK_DOMAINS, ApiCalls, NvtxRanges, OsCalls, Span
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, UndecidableError, View, measure
from stallscope.waits.hostspans import claim_host_spans

# Texts people and frameworks give to the range in which the next batch is fetched. Words stand alone: data_parallel,
# metadata and batch_norm are none of them, nor is the all2all_tw_data of a sparse model. What is done to the data may
# have a word in front: train_load_batch.
INPUT_RANGE = (
    r"(?i)enumerate\(DataLoader\)|DataLoaderIter|\b_?next_data\b"
    r"|(^|[\s:/.-])(data|dataset|input|inputs|input_pipeline|host_data)($|[\s:/.-])"
    r"|(^|[\s:/._-])(data_?load(er|ing)?|data_?fetch(ing)?|(load|get|fetch|next|read)_?(data|batch|sample|input)s?"
    r"|batch_?(load(ing)?|fetch(ing)?)|prefetch_wait)($|[\s:/.-])"
)
READS = r"^(p?readv?(64)?|fread|recv(from|msg|mmsg)?|open(at)?(64)?|fopen(64)?|aio_suspend|io_getevents|mq_receive)$"

META = RuleMeta(
    id="input.wait",
    title="The device waits for input data",
    layer="idle",
    needs=(ApiCalls,),
    uses=(NvtxRanges, OsCalls),
)

EXPERIMENTS = (
    Experiment(
        title="Load in worker processes, ahead of the step",
        change="More DataLoader workers that persist and prefetch; raise until the wait is gone or the CPUs are full",
        apply=("DataLoader(..., num_workers=8, persistent_workers=True, prefetch_factor=4, pin_memory=True)",),
        measure=measure(),
        refuted_if="the wait stays with twice the workers (then storage or one slow transform is the limit)",
        numerics="bit-identical",
        effort="flag",
    ),
    Experiment(
        title="Train on one cached batch",
        change="Reuse the first batch for a few steps: the difference is the most that loading can be worth",
        apply=("batch = next(iter(loader)); for _ in range(50): step(batch)",),
        measure=measure(),
        refuted_if="the step takes as long on the cached batch",
        numerics="fp64-gate",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the host time of late gaps that lies in input ranges or in reads."""
    ranges, reads = view.find(NvtxRanges), view.find(OsCalls)
    if ranges is None and reads is None:
        raise UndecidableError(
            "neither NVTX_EVENTS nor OSRT_API collected: profile with --trace=cuda,nvtx,osrt and annotate the loading"
        )
    found: list[NvtxRanges | OsCalls] = []
    if ranges is not None:
        recorded = view.names.matching(FRAMEWORK_DOMAINS)[ranges.read("domain")]
        found.append(ranges.take(view.names.matching(INPUT_RANGE)[ranges.read("name")] & ~recorded))
    if reads is not None:
        found.append(reads.take(view.names.matching(READS)[reads.name]))
    spans = Span.of(
        start_ns=np.concatenate([f.start_ns for f in found]), end_ns=np.concatenate([f.end_ns for f in found])
    )
    claims = claim_host_spans(view, spans, np.concatenate([f.thread for f in found]))
    if not len(claims):
        return None
    waited = int((claims.end_ns - claims.start_ns).sum())
    return Detection(
        claims=claims,
        level="supported" if ranges is not None else "indicated",
        assumes="the next batch is ready when the step asks for it",
        low_ratio=0.5,
        facts=(
            *(Fact("spans that fetch or read input", len(f), "count", type(f)) for f in found if len(f)),
            Fact("idle time inside them", waited, "ns", type(found[0])),
        ),
    )


RULE = Rule(META, detect, EXPERIMENTS)
