"""The timeline as lanes: rows of disjoint intervals, ready to be cut to any window at any zoom.

A lane's intervals are sorted by start and do not overlap, so one `searchsorted` cuts a window out of it. For windows
with more intervals than pixels, each class of a lane also has prefix sums: the covered time F(t) before any instant,
from which a pixel's share is F(right) - F(left), exact at every zoom and independent of how many intervals lie inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
UInt8Array = npt.NDArray[np.uint8]

NOWHERE = -1
"""Value of a link that points to no interval."""

LaneKind = Literal["waits", "stream", "communication", "copies", "memory", "api", "nvtx", "os", "gil", "off-cpu"]
Details = Mapping[str, Mapping[str, npt.NDArray[Any]]]


@dataclass(frozen=True, slots=True)
class IntervalClass:
    """What an interval is: its key (a wait id for waits), a label and the family whose colour it wears."""

    key: str
    label: str
    family: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One row of the timeline; its intervals are `[first, after)` of the table. `key` is its name in a URL."""

    key: str
    label: str
    group: str
    kind: LaneKind
    depth: int
    first: int
    after: int


@dataclass(frozen=True, slots=True)
class Group:
    """Lanes that belong together: one device, or one host thread."""

    key: str
    label: str
    kind: Literal["device", "thread"]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ClassCover:
    """Where the prefix sums of one class of one lane lie: `[first, after)` of the `Covers` columns."""

    kind: int
    first: int
    after: int


@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of all lanes, lane after lane.

    `link` is a row of this table or NOWHERE: of a device operation the call that launched it, of a call the first
    operation it launched, of a wait the operation that ended it.
    """

    start_ns: Int64Array
    end_ns: Int64Array
    name: Int32Array
    kind: UInt8Array
    detail: UInt8Array
    row: Int32Array
    link: Int32Array

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, slots=True)
class Covers:
    """Prefix sums: start and length of each interval of a class, and the time covered before it."""

    start_ns: Int64Array
    length_ns: Int64Array
    before_ns: Int64Array


@dataclass(frozen=True, slots=True)
class ChargeTable:
    """One row a charge, sorted by (device, start).

    `wait` indexes `waits`, `device` indexes `devices`, `thread` indexes `threads`, `path` indexes `paths`; `at`,
    `before`, `after` and `call` are positions in the lanes' intervals: of the charge itself, of the operations around
    it, of the call that launched the one after; NOWHERE where it is unknown. `host_ns` is the part before that call
    began, `outside_ns` the longest time of it that the thread spent outside any API call.
    """

    waits: tuple[str, ...]
    devices: tuple[str, ...]
    threads: tuple[str, ...]
    paths: tuple[str, ...]
    wait: Int32Array
    device: Int32Array
    start_ns: Int64Array
    end_ns: Int64Array
    at: Int32Array
    before: Int32Array
    after: Int32Array
    call: Int32Array
    thread: Int32Array
    path: Int32Array
    host_ns: Int64Array
    outside_ns: Int64Array

    def __len__(self) -> int:
        return len(self.start_ns)


@dataclass(frozen=True, slots=True)
class LaneTable:
    """All lanes of one trace.

    An interval's `name` indexes `names`, its `kind` indexes `classes`, its `detail` indexes `lane_parts.DETAILS` and
    `row` is its row in that table of `details`. `covers[i]` says where the prefix sums of lane i lie;
    `charges` are the rows of the waits table.
    """

    lanes: tuple[Lane, ...]
    groups: tuple[Group, ...]
    classes: tuple[IntervalClass, ...]
    names: tuple[str, ...]
    intervals: Intervals
    covers: tuple[tuple[ClassCover, ...], ...]
    cover: Covers
    details: Details
    charges: ChargeTable
    positions: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "positions", {lane.key: i for i, lane in enumerate(self.lanes)})

    def __len__(self) -> int:
        return len(self.intervals)

    @property
    def span_ns(self) -> tuple[int, int]:
        """First start and last end over all lanes; (0, 1) when nothing was recorded."""
        filled = [lane for lane in self.lanes if lane.after > lane.first]
        if not filled:
            return 0, 1
        low = min(int(self.intervals.start_ns[lane.first]) for lane in filled)
        high = max(int(self.intervals.end_ns[lane.after - 1]) for lane in filled)
        return low, max(high, low + 1)

    def lane_of(self, interval: int) -> int | None:
        """Position of the lane that holds an interval."""
        return next((i for i, lane in enumerate(self.lanes) if lane.first <= interval < lane.after), None)

    def inside(self, lane: Lane, low_ns: int, high_ns: int) -> tuple[int, int]:
        """Intervals `[first, after)` of the lane that touch the window `[low_ns, high_ns)`."""
        ends = self.intervals.end_ns[lane.first : lane.after]
        starts = self.intervals.start_ns[lane.first : lane.after]
        first = int(np.searchsorted(ends, low_ns, side="right"))
        after = int(np.searchsorted(starts, high_ns, side="left"))
        return lane.first + first, lane.first + max(after, first)

    def covered_before(self, cover: ClassCover, times: Int64Array) -> Int64Array:
        """Time of a class in a lane before each instant, ns; exact."""
        part = slice(cover.first, cover.after)
        starts, lengths = self.cover.start_ns[part], self.cover.length_ns[part]
        row = np.searchsorted(starts, times, side="right") - 1
        last = np.maximum(row, 0)
        inside = self.cover.before_ns[part][last] + np.minimum(times - starts[last], lengths[last])
        return np.where(row >= 0, inside, 0)
