"""Operations of a stream in the order they were submitted, and which of them were before or after a host time."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.calls import ThreadClock
from stallscope.timeline.grouping import grouped_order, groups
from stallscope.timeline.intervals import Int64Array, positions
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import RowArray, picked

_STREAM = 0xFFFFFFFF


def stream_key(process: npt.NDArray[np.int32], context: Int64Array, stream: Int64Array) -> Int64Array:
    """One number for a stream of a context of a process: stream ids have 32 bits, contexts of a process are few."""
    return (process.astype(np.int64) << 48) | ((context & 0xFFFF) << 32) | (stream & _STREAM)


StreamNumbers = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class StreamOrder:
    """Streams are numbered densely; rows are rows of `Operations`. `launched` tells when each was asked for."""

    def __init__(self, operations: Operations, launched: Callable[[], Int64Array]) -> None:
        # Nobody else asks for all contexts and streams of a large trace.
        place = [operations.read(name) for name in ("process", "context", "stream")]
        same = groups(*place)
        key = stream_key(*(column[same.first] for column in place))
        self.keys, number = np.unique(key, return_inverse=True)
        self.of_row = picked(number.astype(np.int32), same.of)
        self.rows = grouped_order(self.of_row, operations.start_ns, operations.end_ns)
        self._launched = launched

    @cached_property
    def ids(self) -> npt.NDArray[np.uint32]:
        """Stream id of every number, unique within a context."""
        return (self.keys & _STREAM).astype(np.uint32)

    def stream(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.uint32]:
        """Stream id of the given rows of `Operations`."""
        return self.ids[self.of_row[rows]]

    @cached_property
    def _bounds(self) -> Int64Array:
        """Where each stream begins in `rows`; one more is their end."""
        sizes = np.bincount(self.of_row, minlength=len(self.keys))
        return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))

    @cached_property
    def _line(self) -> tuple[ThreadClock, Int64Array]:
        """When each of `rows` was submitted, on one line for all streams."""
        launched = self._launched()
        clock = ThreadClock.of(launched)
        # A stream runs in submission order; a launch time out of order (two launching threads) is taken as its elder's.
        stream = picked(self.of_row, self.rows)
        return clock, np.maximum.accumulate(clock.key(stream, picked(launched, self.rows)))

    def number(self, key: Int64Array) -> Int64Array:
        """Dense number of each stream key, or NO_ROW where no operation ran on it."""
        if not len(self.keys):
            return np.full(len(key), NO_ROW, np.int64)
        position = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where(self.keys[position] == key, position, NO_ROW)

    @cached_property
    def predecessor(self) -> RowArray:
        """For every row of `Operations`, the row before it on its stream, or NO_ROW."""
        found = np.empty(len(self.rows), np.int32)
        found[self.rows[1:]] = self.rows[:-1]
        found[self.rows[self._bounds[:-1]]] = NO_ROW
        return found

    def last_before(self, stream: StreamNumbers, times: Int64Array) -> RowArray:
        """Row of the last operation of each stream submitted before each time, or NO_ROW."""
        position = self._position(stream, times) - 1
        valid = (stream != NO_ROW) & (position >= self._bounds[np.maximum(stream, 0)])
        return np.where(valid, self.rows[np.maximum(position, 0)], NO_ROW)

    def first_after(self, stream: StreamNumbers, times: Int64Array) -> RowArray:
        """Row of the first operation of each stream submitted at or after each time, or NO_ROW."""
        position = self._position(stream, times)
        valid = (stream != NO_ROW) & (position < self._bounds[np.maximum(stream, 0) + 1])
        return np.where(valid, self.rows[np.minimum(position, len(self.rows) - 1)], NO_ROW)

    def _position(self, stream: StreamNumbers, times: Int64Array) -> Int64Array:
        clock, submitted = self._line
        wanted = clock.key(np.maximum(stream, 0), times)
        late = times - clock.origin_ns >= clock.span_ns
        position = positions(submitted, wanted)
        return np.where(late, self._bounds[np.maximum(stream, 0) + 1], position).astype(np.int64)
