"""The same kernel alone and beside another one: how much longer it takes, and beside what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.intervals import Int64Array, union
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.rows import RowArray
from stallscope.timeline.windows import DeviceWindow
from stallscope.waits.base import Claims, View
from stallscope.waits.claims import claim_operations

OVERLAP = 0.5
"""A kernel counts as beside another when at least this part of it overlaps; alone means no overlap at all."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """One kernel signature (name, grid, block) alone and beside neighbours of one kind.

    `beside` are the rows in Operations of the instances beside a neighbour; the medians are of durations.
    """

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


def slowdowns(view: View, neighbour: npt.NDArray[np.bool_], window: DeviceWindow, minimum: int) -> list[Slowdown]:
    """Signatures with at least `minimum` instances alone and as many beside a flagged operation, clearly apart.

    `neighbour` flags operations of the window's device. Clearly: the faster quarter beside the neighbour is slower than
    the slower quarter alone.
    """
    operations, mine = view.operations, slice(window.first, window.after)
    start, end, near = operations.start_ns[mine], operations.end_ns[mine], neighbour[mine]
    rows = np.flatnonzero(~near & (operations.kind[mine] == OperationKind.COMPUTE))
    if not near.any() or not len(rows):
        return []
    busy = union(start[near], end[near])
    length = (end - start)[rows]
    shared = busy.covered(start[rows], end[rows])
    beside = shared >= OVERLAP * length
    if beside.sum() < minimum:
        return []
    sided = np.flatnonzero(beside | (shared == 0))
    rows, length, beside = rows[sided] + window.first, length[sided], beside[sided]
    signature = view.kernel_shape[operations.row[rows]]
    kept = _candidates(signature, length, beside, minimum)[signature]
    if not kept.any():
        return []
    slower = _compared(signature[kept], length[kept], beside[kept], minimum)
    if not slower:
        return []
    wanted = np.zeros(int(signature.max()) + 1, np.bool_)
    wanted[[found for found, _, _ in slower]] = True
    chosen = beside & wanted[signature]
    rows, signature = rows[chosen], signature[chosen]
    return [Slowdown(rows[signature == found], alone_ns, beside_ns) for found, alone_ns, beside_ns in slower]


def _candidates(
    signature: RowArray, length: Int64Array, beside: npt.NDArray[np.bool_], minimum: int
) -> npt.NDArray[np.bool_]:
    """Signatures that can pass `_compared`: often enough alone and beside, and perhaps slower beside.

    Perhaps is told by counting around one time instead of by sorting. Where the faster quarter beside ends above the
    slower quarter alone, any time is passed by all but a quarter of those beside, or is not passed by all but a quarter
    of those alone. The mean of both is a time that neither holds for where the neighbour changes nothing. One instance
    a side is allowed for, as quantiles fall between two.
    """
    side = 2 * signature.astype(np.intp) + beside  # numbers of (signature, side)
    sides = 2 * (int(signature.max(initial=NO_ROW)) + 1)
    alone, near = np.bincount(side, minlength=sides).reshape(-1, 2).T
    often: npt.NDArray[np.bool_] = np.minimum(alone, near) >= minimum
    if not often.any():
        return often
    sums = np.bincount(side, weights=length, minlength=sides).reshape(-1, 2).sum(axis=1)
    middle = sums / np.maximum(alone + near, 1)
    longer_alone, longer_near = np.bincount(side[length > middle[signature]], minlength=sides).reshape(-1, 2).T
    often &= (longer_near >= 0.75 * near - 1) | (alone - longer_alone >= 0.75 * alone - 1)
    return often


def _compared(
    signature: RowArray, length: Int64Array, beside: npt.NDArray[np.bool_], minimum: int
) -> list[tuple[int, float, float]]:
    """Signatures that are clearly slower beside the neighbour, by their first instance, with both medians."""
    found = []
    order = np.lexsort((length, beside, signature))
    ends = np.flatnonzero(np.diff(signature[order], append=-1)) + 1
    for one in np.split(order, ends[:-1]):
        alone, near = length[one[~beside[one]]], length[one[beside[one]]]
        if min(len(alone), len(near)) >= minimum and _nearest(near, 0.25) > _nearest(alone, 0.75):
            found.append((int(one.min()), int(signature[one[0]]), float(np.median(alone)), float(np.median(near))))
    return [(same, alone_ns, beside_ns) for _, same, alone_ns, beside_ns in sorted(found)]


def _nearest(ordered: Int64Array, quantile: float) -> int:
    """The instance nearest to a quantile, the later one of two."""
    return int(ordered[int(quantile * (len(ordered) - 1) + 0.5)])


def claim_excess(view: View, found: list[Slowdown]) -> Claims:
    """Claims on what each instance beside the neighbour took longer than the median alone: its last nanoseconds."""
    rows = np.concatenate([s.beside for s in found])
    alone = np.concatenate([np.full(len(s.beside), round(s.alone_ns), np.int64) for s in found])
    whole = claim_operations(view, rows)
    return whole.between(np.minimum(whole.start_ns + alone, whole.end_ns), whole.end_ns)
