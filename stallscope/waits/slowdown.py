"""The same kernel alone and beside another one: how much longer it takes, and beside what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from stallscope.timeline.intervals import Int64Array, union
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.rows import RowArray
from stallscope.timeline.windows import DeviceWindow
from stallscope.waits.base import Claims, View, claim_operations

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
    beside, alone = shared >= OVERLAP * length, shared == 0
    if beside.sum() < minimum:
        return []
    rows += window.first
    signature = view.kernel_shape[operations.row[rows]]
    kept = _often(signature, beside, alone, minimum)
    kept &= _may_be_slower(signature, length, beside & kept, alone & kept)[signature]
    if not kept.any():
        return []
    columns = {"signature": signature, "length": length, "beside": beside, "alone": alone}
    slower = _compared(pl.DataFrame({name: column[kept] for name, column in columns.items()}), minimum)
    if slower.is_empty():
        return []
    wanted = np.zeros(int(signature.max()) + 1, np.bool_)
    wanted[slower["signature"]] = True
    chosen = kept & beside & wanted[signature]
    rows, signature = rows[chosen], signature[chosen]
    return [
        Slowdown(rows[signature == found["signature"]], found["alone_ns"], found["beside_ns"])
        for found in slower.iter_rows(named=True)
    ]


def _often(
    signature: RowArray, beside: npt.NDArray[np.bool_], alone: npt.NDArray[np.bool_], minimum: int
) -> npt.NDArray[np.bool_]:
    """Instances that count, of signatures with enough of them on both sides."""
    most = int(signature.max()) + 1
    often = np.ones(most, np.bool_)
    for side in (beside, alone):
        often &= np.bincount(signature[side], minlength=most) >= minimum
    return (beside | alone) & often[signature]


def _may_be_slower(
    signature: RowArray, length: Int64Array, beside: npt.NDArray[np.bool_], alone: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Signatures that can pass `_compared`, told by counting around one time instead of by sorting.

    Where the faster quarter beside ends above the slower quarter alone, any time is passed by all but a quarter of
    those beside, or is not passed by all but a quarter of those alone. The mean of both is a time that neither holds
    for where the neighbour changes nothing. One instance a side is allowed for, as quantiles fall between two.
    """
    most = int(signature.max()) + 1
    sums = [np.bincount(signature[side], weights=length[side], minlength=most) for side in (beside, alone)]
    counts = [np.bincount(signature[side], minlength=most) for side in (beside, alone)]
    middle = (sums[0] + sums[1]) / np.maximum(counts[0] + counts[1], 1)
    longer = length > middle[signature]
    above, below = (np.bincount(signature[side], minlength=most) for side in (beside & longer, alone & ~longer))
    return (above >= 0.75 * counts[0] - 1) | (below >= 0.75 * counts[1] - 1)


def _compared(frame: pl.DataFrame, minimum: int) -> pl.DataFrame:
    alone, beside = pl.col("length").filter("alone"), pl.col("length").filter("beside")
    return (
        frame.group_by("signature", maintain_order=True)
        .agg(
            alone.median().alias("alone_ns"),
            beside.median().alias("beside_ns"),
            alone.quantile(0.75).alias("slow_alone_ns"),
            beside.quantile(0.25).alias("fast_beside_ns"),
            pl.min_horizontal(alone.len(), beside.len()).alias("fewest"),
        )
        .filter((pl.col("fewest") >= minimum) & (pl.col("fast_beside_ns") > pl.col("slow_alone_ns")))
    )


def claim_excess(view: View, found: list[Slowdown]) -> Claims:
    """Claims on what each instance beside the neighbour took longer than the median alone: its last nanoseconds."""
    rows = np.concatenate([s.beside for s in found])
    alone = np.concatenate([np.full(len(s.beside), round(s.alone_ns), np.int64) for s in found])
    whole = claim_operations(view, rows)
    return whole.between(np.minimum(whole.start_ns + alone, whole.end_ns), whole.end_ns)
