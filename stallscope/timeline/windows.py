"""The part of a device's time that is accounted for."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stallscope.timeline.intervals import IntervalSet, intersect, union
from stallscope.timeline.operations import Operations


@dataclass(frozen=True, slots=True)
class DeviceWindow:
    """One device's window, and which rows of `operations` are on it."""

    device: int
    window: IntervalSet
    first: int
    after: int
    operations: Operations = field(repr=False)

    @property
    def busy(self) -> IntervalSet:
        """The time in which any of them ran; found anew for whoever asks, as it is as long as they are."""
        rows = slice(self.first, self.after)
        return union(self.operations.start_ns[rows], self.operations.end_ns[rows])

    @property
    def window_ns(self) -> int:
        """Length of the window."""
        return self.window.total_ns()


def device_windows(operations: Operations, restriction: IntervalSet | None = None) -> tuple[DeviceWindow, ...]:
    """One window a device that did anything: first operation start to last operation end, cut by the restriction.

    Operations are sorted by (device, start), so a device's rows are `[first, after)`.
    """
    windows = []
    bounds = np.flatnonzero(np.diff(operations.device)) + 1
    edges = np.concatenate(([0], bounds, [len(operations)])).astype(np.int64)
    for first, after in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if first == after:
            continue
        starts, ends = operations.start_ns[first:after], operations.end_ns[first:after]
        ran = ends > starts
        if not ran.any():
            continue
        span = int(starts[ran.argmax()]), int(ends[ran].max())
        window = IntervalSet(*(np.array([edge], np.int64) for edge in span))
        if restriction is not None:
            window = intersect(window, restriction)
        windows.append(DeviceWindow(int(operations.device[first]), window, first, after, operations))
    return tuple(w for w in windows if len(w.window.starts))
