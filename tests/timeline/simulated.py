"""A machine in a few lines: a host thread that launches kernels and waits, streams that run them in order.

Programs are lists of steps; running one gives a trace whose dependencies are known, so that a counterfactual can be
checked by running the changed program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from build import TraceBuilder

LAUNCH_US = 5
LATENCY_US = 4
DRAIN_US = 1
RETURN_US = 3
IDLE_SYNC_US = 2
FREE_US = 40


@dataclass(frozen=True)
class Work:
    """Host work outside any call."""

    us: int


@dataclass(frozen=True)
class Launch:
    """A kernel on a stream."""

    us: int
    stream: int = 7


@dataclass(frozen=True)
class Sync:
    """cudaStreamSynchronize of a stream, or cudaDeviceSynchronize."""

    stream: int | None = None


@dataclass(frozen=True)
class Free:
    """cudaFree: waits for all work, then takes its own time."""


Step = Work | Launch | Sync | Free


def run(program: Sequence[Step]) -> tuple[TraceBuilder, int]:
    """The trace, and the device time from the first kernel's start to the last one's end, in microseconds."""
    build = TraceBuilder()
    now = 0
    ends: dict[int, int] = {}
    first = None
    for correlation, step in enumerate(program, start=1):
        begin = now
        match step:
            case Work(us):
                now += us
            case Launch(us, stream):
                now += LAUNCH_US
                build.launch(begin, now, correlation=correlation)
                ready = ends.get(stream, -(10**9)) + DRAIN_US
                start = max(begin + LAUNCH_US + LATENCY_US, ready)
                ends[stream] = start + us
                first = start if first is None else min(first, start)
                build.kernel(start, start + us, correlation=correlation, stream=stream, name=f"k{stream}")
            case Sync(stream):
                waited = ends.get(stream, -1) if stream is not None else max(ends.values(), default=-1)
                now = max(begin + IDLE_SYNC_US, waited + RETURN_US) if waited > begin else begin + IDLE_SYNC_US
                name = "cudaDeviceSynchronize" if stream is None else "cudaStreamSynchronize"
                build.call(name, begin, now, correlation=correlation)
            case Free():
                waited = max(ends.values(), default=-1)
                now = max(begin, waited) + FREE_US
                build.call("cudaFree", begin, now, correlation=correlation)
    return build, max(ends.values(), default=0) - (first or 0)
