"""The same kernel alone and beside another one: how much longer it takes, and beside what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from stallscope.timeline.intervals import Int64Array, union
from stallscope.timeline.operations import OperationKind
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


def slowdowns(view: View, neighbour: npt.NDArray[np.bool_], device: int, minimum: int) -> list[Slowdown]:
    """Signatures with at least `minimum` instances alone and as many beside a flagged operation, clearly apart.

    Clearly: the faster quarter beside the neighbour is slower than the slower quarter alone.
    """
    operations = view.operations
    mine = operations.device == device
    others = np.flatnonzero(mine & neighbour)
    rows = np.flatnonzero(mine & ~neighbour & (operations.kind == OperationKind.COMPUTE))
    if not len(others) or not len(rows):
        return []
    busy = union(operations.start_ns[others], operations.end_ns[others])
    start, length = operations.start_ns[rows], operations.end_ns[rows] - operations.start_ns[rows]
    shared = busy.covered(start, start + length)
    beside = shared >= OVERLAP * length
    if beside.sum() < minimum:
        return []
    signature = view.kernel_signature[operations.row[rows]]
    columns = {"signature": signature, "row": rows, "length": length, "beside": beside, "alone": shared == 0}
    grouped = _compared(pl.DataFrame(columns), minimum)
    return [
        Slowdown(np.array(found["rows"], np.int64), found["alone_ns"], found["beside_ns"])
        for found in grouped.iter_rows(named=True)
    ]


def _compared(frame: pl.DataFrame, minimum: int) -> pl.DataFrame:
    alone, beside = pl.col("length").filter("alone"), pl.col("length").filter("beside")
    return (
        frame.filter(pl.col("alone") | pl.col("beside"))
        .group_by("signature", maintain_order=True)
        .agg(
            alone.median().alias("alone_ns"),
            beside.median().alias("beside_ns"),
            alone.quantile(0.75).alias("slow_alone_ns"),
            beside.quantile(0.25).alias("fast_beside_ns"),
            pl.min_horizontal(alone.len(), beside.len()).alias("fewest"),
            pl.col("row").filter("beside").alias("rows"),
        )
        .filter((pl.col("fewest") >= minimum) & (pl.col("fast_beside_ns") > pl.col("slow_alone_ns")))
    )


def claim_excess(view: View, found: list[Slowdown]) -> Claims:
    """Claims on what each instance beside the neighbour took longer than the median alone: its last nanoseconds."""
    rows = np.concatenate([s.beside for s in found])
    alone = np.concatenate([np.full(len(s.beside), round(s.alone_ns), np.int64) for s in found])
    whole = claim_operations(view, rows)
    columns = {name: whole.array(name) for name in Claims.COLUMNS}
    start = np.minimum(whole.start_ns + alone, whole.end_ns)
    return Claims.of(**{**columns, "start_ns": start})
