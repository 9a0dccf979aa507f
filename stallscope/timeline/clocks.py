"""One clock for all ranks, from the ends of the collectives they left together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.timeline.collectives import SYNCHRONIZING
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.ranks import Instances

Float64Array = npt.NDArray[np.float64]

ROUNDS = 8
MIN_FOR_DRIFT = 12
MOST_DRIFT = 1e-3
"""Crystal oscillators differ by tens of parts in a million; more is no drift."""
_TO_SIGMA = 1.4826
"""Median absolute deviation → standard deviation of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Offset and drift of every participant's clock against the common one (see `common`).

    `error_ns[p]` is the spread (one sigma, from the median deviation) of its collective ends around the common ones: no
    comparison of times between ranks is finer than that. `component[p]` numbers the sets of participants that are
    connected by collectives; times of different sets cannot be compared. Infinite error: no collective at all.
    """

    offset_ns: Int64Array
    drift: Float64Array
    zero_ns: int
    error_ns: Float64Array
    component: npt.NDArray[np.int64]

    def common(self, times: Int64Array) -> Float64Array:
        """Times (instance × participant, own clocks) relative to `zero_ns` of the common clock."""
        near = (times - self.offset_ns - self.zero_ns).astype(np.float64)
        return near - self.drift * near


def align_clocks(instances: Instances) -> Clocks:
    """Estimate every clock's offset and drift by alternating robust fits (median, Theil–Sen)."""
    wanted = np.isin(instances.kind, SYNCHRONIZING)
    present, end = instances.present[wanted], instances.end_ns[wanted]
    width = instances.row.shape[1]
    offset, component = _chained(present, end)
    zero = int(np.where(present, end - offset, np.iinfo(np.int64).max).min(initial=np.iinfo(np.int64).max))
    zero = zero if len(end) and present.any() else 0
    near = np.where(present, (end - offset - zero).astype(np.float64), np.nan)
    shift, drift = np.zeros(width), np.zeros(width)
    if len(near):
        for _ in range(ROUNDS):
            common = np.nanmedian(near - shift - drift * near, axis=1)
            for p in np.flatnonzero(present.any(axis=0)):
                rows = present[:, p]
                shift[p], drift[p] = _line(common[rows], near[rows, p] - common[rows])
            shift -= shift[0] if present[:, 0].any() else 0.0
    moved = offset + np.rint(shift).astype(np.int64)
    clocks = Clocks(moved, drift, zero, np.full(width, np.inf), component)
    return Clocks(moved, drift, zero, _errors(clocks, present, end), component)


def _errors(clocks: Clocks, present: npt.NDArray[np.bool_], end: Int64Array) -> Float64Array:
    if not len(end):
        return clocks.error_ns
    own = np.where(present, clocks.common(end), np.nan)
    residual = own - np.nanmedian(own, axis=1, keepdims=True)
    error = np.full(len(clocks.offset_ns), np.inf)
    for p in np.flatnonzero(present.any(axis=0)):
        mine = residual[present[:, p], p]
        error[p] = _TO_SIGMA * np.median(np.abs(mine - np.median(mine)))
    return error


def _chained(present: npt.NDArray[np.bool_], end: Int64Array) -> tuple[Int64Array, npt.NDArray[np.int64]]:
    """Integer offsets against the first participant of each connected set, along a breadth-first tree.

    Integers first: clocks may be days apart, which a double cannot hold to the nanosecond.
    """
    width = present.shape[1]
    offset, component = np.zeros(width, np.int64), np.full(width, -1, np.int64)
    for root in range(width):
        if component[root] >= 0:
            continue
        component[root] = root
        frontier = [root]
        while frontier:
            here = frontier.pop(0)
            for there in np.flatnonzero((component < 0) & (present & present[:, [here]]).any(axis=0)):
                both = present[:, here] & present[:, there]
                gaps = np.sort(end[both, there] - end[both, here])
                offset[there] = offset[here] + gaps[len(gaps) // 2]
                component[there] = root
                frontier.append(int(there))
    return offset, component


def _line(at: Float64Array, value: Float64Array) -> tuple[float, float]:
    """Robust `value ≈ a + b · at`: slope from pairs of the first and last third, offset from the median."""
    slope = 0.0
    third = len(at) // 3
    if len(at) >= MIN_FOR_DRIFT:
        run = at[-third:] - at[:third]
        far = run > 0
        if far.any():
            slope = float(np.median((value[-third:] - value[:third])[far] / run[far]))
            slope = slope if abs(slope) <= MOST_DRIFT else 0.0
    return float(np.median(value - slope * at)), slope
