"""The busy part of the ledger that is no wait: compute and memsets."""

from __future__ import annotations

from functools import partial

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.timeline.intervals import is_one_of, union
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims

_OK = {
    "ok.compute": (OperationKind.COMPUTE, OperationKind.GRAPH),
    "ok.memset": (OperationKind.MEMSET,),
}


def ok_claims(timeline: Timeline) -> dict[str, Claims]:
    """Union of the compute operations (whole graph runs count as compute) and of the memsets of every device."""
    return {wait: _union(timeline, kinds) for wait, kinds in _OK.items()}


def _union(timeline: Timeline, kinds: tuple[OperationKind, ...]) -> Claims:
    operations = timeline.operations
    parts = []
    for window in timeline.windows:
        rows = slice(window.first, window.after)
        wanted = is_one_of(operations.kind[rows], kinds)
        merged = union(operations.start_ns[rows][wanted], operations.end_ns[rows][wanted])
        parts.append((merged.starts, merged.ends, np.full(len(merged.starts), window.device, np.int32)))
    starts, ends, device = (
        (np.concatenate([p[i] for p in parts]) if parts else np.empty(0, np.int64)) for i in range(3)
    )
    none = partial(np.full, len(starts), NO_ROW)
    return Claims.lazily(
        len(starts),
        start_ns=starts,
        end_ns=ends,
        device=device,
        process=none,
        call=none,
        operation=none,
        thread=none,
        time_ns=starts,
    )
