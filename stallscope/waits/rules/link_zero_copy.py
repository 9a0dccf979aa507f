"""link.zero_copy: kernels read or write host memory directly, over the link."""

from __future__ import annotations

import numpy as np

from stallscope.model.events import GpuMetrics, Kernels
from stallscope.model.experiments import Experiment
from stallscope.timeline.intervals import Int64Array, IntervalSet, is_one_of, subtract, union
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Claims, Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.unified_memory import claim_in_kernels

LINK_METRIC = r"(?i)pcie.*(rx|tx|read|write).*(throughput|bandwidth)"
BUSY_PERCENT = 20.0

META = RuleMeta(
    id="link.zero_copy",
    title="Kernels access host memory over the link",
    layer="kernel",
    needs=(Kernels, GpuMetrics),
)

EXPERIMENTS = (
    Experiment(
        title="Stage the data once",
        change="Copy what is read more than once to device memory before the kernel",
        apply=("cudaMemcpyAsync(d, mapped, bytes, cudaMemcpyHostToDevice, stream);",),
        measure=measure("-- ./program"),
        refuted_if="link traffic falls to one pass over the data and the kernel takes as long",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim kernel time in which the link is busy though no copy runs."""
    metrics = view[GpuMetrics]
    link = view.names.matching(LINK_METRIC)[metrics.metric]
    parts, samples = [], 0
    for window in view.windows:
        rows = np.flatnonzero(link & (metrics.device == window.device) & (metrics.value >= BUSY_PERCENT))
        period = _period(metrics.time_ns[link & (metrics.device == window.device)])
        busy = union(metrics.time_ns[rows] - period, metrics.time_ns[rows])
        direct = subtract(busy, _copies(view, window.device, period))
        samples += len(rows)
        parts.append(claim_in_kernels(view, window.device, direct))
    claims = Claims.joined(parts)
    if not len(claims):
        return None
    return Detection(
        claims=claims,
        level="supported",
        assumes="the data crosses the link once and is then read from device memory",
        low_ratio=0.0,
        facts=(
            Fact("samples with the link busy", samples, "count", GpuMetrics),
            Fact(
                "kernel time with link traffic and no copy",
                int((claims.end_ns - claims.start_ns).sum()),
                "ns",
                GpuMetrics,
            ),
        ),
    )


def _period(times: Int64Array) -> int:
    distinct = np.unique(times)
    return int(np.median(np.diff(distinct))) if len(distinct) > 1 else 0


def _copies(view: View, device: int, margin_ns: int) -> IntervalSet:
    """Copies and communication, with one sample period around them: their traffic is not the kernels'."""
    operations = view.operations
    moves = is_one_of(operations.kind, (OperationKind.COPY, OperationKind.COMMUNICATION)) & (
        operations.device == device
    )
    return union(operations.start_ns[moves] - margin_ns, operations.end_ns[moves] + margin_ns)


RULE = Rule(META, detect, EXPERIMENTS)
