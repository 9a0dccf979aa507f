"""The same kernel alone and beside another one: how much longer it takes, and beside what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.events import Kernels
from stallscope.timeline.intervals import Int64Array, union
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Claims, View, claim_operations

OVERLAP = 0.5
"""A kernel counts as beside another when at least this part of it overlaps; alone means no overlap at all."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """Instances of one kernel signature (name, grid, block) alone and beside neighbours of one kind.

    `alone` and `beside` are rows in Operations; the medians are of their durations.
    """

    name: int
    alone: Int64Array
    beside: Int64Array
    alone_ns: float
    beside_ns: float

    @property
    def ratio(self) -> float:
        """How many times longer beside the neighbour."""
        return self.beside_ns / self.alone_ns if self.alone_ns else 0.0

    @property
    def excess_ns(self) -> float:
        """How much longer, at the median."""
        return self.beside_ns - self.alone_ns


def slowdowns(view: View, neighbour: npt.NDArray[np.bool_], device: int, minimum: int) -> Iterator[Slowdown]:
    """Signatures with at least `minimum` instances alone and as many beside a flagged operation, clearly apart.

    Clearly: the faster quarter beside the neighbour is slower than the slower quarter alone.
    """
    operations = view.operations
    mine = operations.device == device
    others = np.flatnonzero(mine & neighbour)
    busy = union(operations.start_ns[others], operations.end_ns[others])
    rows = np.flatnonzero(mine & ~neighbour & (operations.kind == OperationKind.COMPUTE))
    if not len(others) or not len(rows):
        return
    length = operations.end_ns[rows] - operations.start_ns[rows]
    shared = busy.covered(operations.start_ns[rows], operations.end_ns[rows])
    beside, alone = shared >= OVERLAP * length, shared == 0
    signature = _signatures(view[Kernels], operations.row[rows])
    for group in np.unique(signature[beside]):
        a, b = (signature == group) & alone, (signature == group) & beside
        if min(a.sum(), b.sum()) < minimum or np.quantile(length[b], 0.25) <= np.quantile(length[a], 0.75):
            continue
        yield Slowdown(
            int(operations.name[rows[b][0]]), rows[a], rows[b], float(np.median(length[a])), float(np.median(length[b]))
        )


def claim_excess(view: View, found: list[Slowdown]) -> Claims:
    """Claims on what each instance beside the neighbour took longer than the median alone: its last nanoseconds."""
    rows = np.concatenate([s.beside for s in found])
    alone = np.concatenate([np.full(len(s.beside), round(s.alone_ns), np.int64) for s in found])
    whole = claim_operations(view, rows)
    columns = {name: whole.array(name) for name in Claims.COLUMNS}
    start = np.minimum(whole.start_ns + alone, whole.end_ns)
    return Claims.of(**{**columns, "start_ns": start})


def _signatures(kernels: Kernels, rows: Int64Array) -> Int64Array:
    columns = ("full_name", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
    _, inverse = np.unique(np.stack([kernels.array(c)[rows] for c in columns]), axis=1, return_inverse=True)
    return inverse.ravel().astype(np.int64)
