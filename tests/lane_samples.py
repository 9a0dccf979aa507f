"""A small built run for tests of lanes, charges and the dashboard: bursts, a sync, copies, nested ranges."""

from __future__ import annotations

from build import TraceBuilder

from stallscope.api import Examination, examine_trace
from stallscope.model import events
from stallscope.views.charges import charges_of
from stallscope.views.lane_build import build_lanes
from stallscope.views.lanes import LaneTable

HOSTILE = "<img src=x onerror=alert(1)>\u202e\x07void k<T>(=cmd|' /C calc'!A0)"


def burst_build(steps: int = 4, kernel: str = "void at::native::vectorized_elementwise_kernel<4>(int)") -> TraceBuilder:
    """Late launches under `step / layer`, a host sync and a copy at the end of every step."""
    build = TraceBuilder()
    correlation = 1
    for step in range(steps):
        base = 1_000.0 * step
        build.nvtx("step", base, base + 950)
        build.nvtx("layer", base + 10, base + 700)
        for k in range(12):
            at = base + 20 + 50 * k
            build.launch(at, at + 6, correlation=correlation)
            build.kernel(at + 8, at + 28, name="vectorized", full_name=kernel, correlation=correlation)
            correlation += 1
        build.call("cudaMemcpyAsync", base + 720, base + 725, correlation=correlation)
        build.copy(base + 730, base + 760, correlation=correlation, kind=events.CopyKind.DEVICE_TO_HOST)
        correlation += 1
        build.call("cudaStreamSynchronize", base + 726, base + 765)
    return build


def examined(build: TraceBuilder) -> Examination:
    """The whole analysis of a built trace."""
    return examine_trace(build.trace(), everything=True)


def lanes_of(build: TraceBuilder) -> LaneTable:
    """Its lanes."""
    found = examined(build)
    return build_lanes(found.timeline, charges_of(found.timeline, found.charges))
