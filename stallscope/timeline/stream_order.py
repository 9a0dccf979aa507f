"""Operations of a stream in the order they were submitted, and which of them were before or after a host time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.calls import ThreadClock
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import Operations


def stream_key(process: npt.NDArray[np.int32], context: Int64Array, stream: Int64Array) -> Int64Array:
    """One number for a stream of a context of a process: stream ids have 32 bits, contexts of a process are few."""
    return (process.astype(np.int64) << 48) | ((context & 0xFFFF) << 32) | (stream & 0xFFFFFFFF)


class StreamOrder:
    """Streams are numbered densely; rows are rows of `Operations`. `launched` is when each operation was asked for."""

    def __init__(self, operations: Operations, launched: Int64Array) -> None:
        self.keys, index = np.unique(
            stream_key(operations.process, operations.context, operations.stream), return_inverse=True
        )
        self.of_row: Int64Array = index.astype(np.int64)
        self.rows = np.lexsort((operations.end_ns, operations.start_ns, self.of_row)).astype(np.int64)
        stream = self.of_row[self.rows]
        self._clock = ThreadClock.of(launched)
        # A stream runs in submission order; a launch time out of order (two launching threads) is taken as its elder's.
        self._submitted = np.maximum.accumulate(self._clock.key(stream, launched[self.rows]))
        self._bounds = np.searchsorted(stream, np.arange(len(self.keys) + 1))

    def number(self, key: Int64Array) -> Int64Array:
        """Dense number of each stream key, or NO_ROW where no operation ran on it."""
        if not len(self.keys):
            return np.full(len(key), NO_ROW, np.int64)
        position = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where(self.keys[position] == key, position, NO_ROW)

    def predecessor(self) -> Int64Array:
        """For every row of `Operations`, the row before it on its stream, or NO_ROW."""
        found = np.full(len(self.rows), NO_ROW, np.int64)
        same = self.of_row[self.rows[1:]] == self.of_row[self.rows[:-1]]
        found[self.rows[1:][same]] = self.rows[:-1][same]
        return found

    def last_before(self, stream: Int64Array, times: Int64Array) -> Int64Array:
        """Row of the last operation of each stream submitted before each time, or NO_ROW."""
        position = self._position(stream, times) - 1
        valid = (stream != NO_ROW) & (position >= self._bounds[np.maximum(stream, 0)])
        return np.where(valid, self.rows[np.maximum(position, 0)], NO_ROW)

    def first_after(self, stream: Int64Array, times: Int64Array) -> Int64Array:
        """Row of the first operation of each stream submitted at or after each time, or NO_ROW."""
        position = self._position(stream, times)
        valid = (stream != NO_ROW) & (position < self._bounds[np.maximum(stream, 0) + 1])
        return np.where(valid, self.rows[np.minimum(position, len(self.rows) - 1)], NO_ROW)

    def _position(self, stream: Int64Array, times: Int64Array) -> Int64Array:
        wanted = self._clock.key(np.maximum(stream, 0), times)
        late = times - self._clock.origin_ns >= self._clock.span_ns
        position = np.searchsorted(self._submitted, wanted, side="left")
        return np.where(late, self._bounds[np.maximum(stream, 0) + 1], position).astype(np.int64)
