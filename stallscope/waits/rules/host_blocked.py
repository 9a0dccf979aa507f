"""host.blocked: the operating system keeps the launching thread from running (lock, I/O, descheduled)."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import ApiCalls, OsCalls, SchedSpans, Span
from stallscope.model.experiments import Experiment
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, UndecidableError, View, measure
from stallscope.waits.hostspans import claim_host_spans

META = RuleMeta(
    id="host.blocked",
    title="The launching thread is blocked in the operating system",
    layer="idle",
    needs=(ApiCalls,),
    uses=(OsCalls, SchedSpans),
)

EXPERIMENTS = (
    Experiment(
        title="Find what it waits for",
        change="Record backtraces of the blocking calls and of the thread that wakes it",
        apply=("nsys profile --trace=cuda,nvtx,osrt --osrt-threshold=10000 --cpuctxsw=process-tree …",),
        measure=measure(),
        refuted_if="the launching thread no longer blocks there and the device is idle as long as before",
        numerics="bit-identical",
        effort="flag",
    ),
    Experiment(
        title="Give the launching thread a core of its own",
        change="Pin it, and keep worker threads off its core; lower OMP_NUM_THREADS when the machine is oversubscribed",
        apply=("OMP_NUM_THREADS=1", "taskset -c 0-7 python train.py"),
        measure=measure(),
        refuted_if="the thread is scheduled all the time and the device is idle as long as before",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the host time of late gaps in which the launching thread blocked or was off the CPU."""
    tables = [table for table in (view.find(OsCalls), view.find(SchedSpans)) if table is not None]
    if not tables:
        raise UndecidableError(
            "neither OSRT_API nor SCHED_EVENTS collected: profile with --trace=cuda,nvtx,osrt --cpuctxsw=process-tree"
        )
    spans = Span.of(
        start_ns=np.concatenate([t.start_ns for t in tables]), end_ns=np.concatenate([t.end_ns for t in tables])
    )
    claims = claim_host_spans(view, spans, np.concatenate([t.thread for t in tables]))
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported" if len(tables) > 1 else "indicated",
        assumes="the thread no longer blocks before these launches",
        facts=(
            Fact("blocking spans before late launches", len(claims), "count", type(tables[0])),
            Fact("idle time in them", int((claims.end_ns - claims.start_ns).sum()), "ns", type(tables[0])),
        ),
    )


RULE = Rule(META, detect, EXPERIMENTS)
