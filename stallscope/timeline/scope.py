"""Whether the asked-for part of a trace exists."""

from __future__ import annotations

import numpy as np

from stallscope.errors import UsageError
from stallscope.model.scope import WHOLE
from stallscope.timeline.operations import operations
from stallscope.timeline.timeline import Timeline

NAMED = 5
"""How many ranges a message offers instead of one that does not exist."""


def require_scope(timeline: Timeline) -> None:
    """Raise `UsageError` when the scope leaves nothing of a trace that has device operations."""
    scope, trace = timeline.scope, timeline.trace
    if scope == WHOLE or timeline.windows:
        return
    every = operations(trace)
    if not len(every):
        return
    file = trace.source.name
    if scope.device is not None and not (every.device == scope.device).any():
        found = ", ".join(str(d) for d in np.unique(every.device).tolist())
        raise UsageError(f"no work on device {scope.device}", file=file, next_step=f"devices with work: {found}")
    if scope.nvtx is not None and not len(timeline.ranges.named(scope.nvtx, trace.names).starts):
        names = _frequent_ranges(timeline)
        offer = f"frequent ranges: {', '.join(names)}" if names else "the trace has no NVTX ranges"
        raise UsageError(f"no NVTX range is called {scope.nvtx!r}", file=file, next_step=offer)
    first, last = int(every.start_ns.min()), int(every.end_ns.max())
    raise UsageError(
        "no device operation lies in the part asked for", file=file, next_step=f"they span {first}ns:{last}ns"
    )


def _frequent_ranges(timeline: Timeline) -> list[str]:
    names, counts = np.unique(timeline.ranges.ranges.name, return_counts=True)
    return [timeline.trace.names[int(n)] for n in names[np.argsort(-counts, kind="stable")][:NAMED]]
