"""The part of a device's time that is accounted for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stallscope.timeline.intervals import IntervalSet, intersect, union
from stallscope.timeline.operations import Operations


@dataclass(frozen=True, slots=True)
class DeviceWindow:
    """One device's window, the rows of `Operations` on it, and the time in which any of them ran."""

    device: int
    window: IntervalSet
    first: int
    after: int
    busy: IntervalSet

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
        busy = union(operations.start_ns[first:after], operations.end_ns[first:after])
        if not len(busy.starts):
            continue
        window = IntervalSet(busy.starts[:1], busy.ends[-1:])
        if restriction is not None:
            window = intersect(window, restriction)
        windows.append(DeviceWindow(int(operations.device[first]), window, first, after, busy))
    return tuple(w for w in windows if len(w.window.starts))
