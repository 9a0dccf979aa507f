"""Host threads as chains of API calls; threads that take turns are one chain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.timeline.calls import HostCalls, ThreadClock
from stallscope.timeline.intervals import Int64Array

MAX_OVERLAP = 0.01
"""Threads of a process take turns when at most this part of their calls overlaps a call of another of its threads …"""

MAX_SWITCHES = 0.1
"""… and the process changes from one thread to another after at most this part of the calls.

PyTorch's autograd thread works while the main thread waits for it. No table shows that dependency, so it is inferred.
"""


@dataclass(frozen=True, slots=True)
class HostChains:
    """The chain of every thread, and when the first call of each chain began."""

    of_thread: Int64Array
    begin_ns: Int64Array
    merged: bool


def host_chains(calls: HostCalls, threads: int) -> HostChains:
    """One chain a thread, one for all threads of a process that take turns. `threads` is the number of threads."""
    of_thread = np.arange(threads, dtype=np.int64)
    outer = np.flatnonzero(calls.outer)
    merged = False
    for process in np.unique(calls.process):
        mine = outer[calls.process[outer] == process]
        used = np.unique(calls.thread[mine])
        if len(used) > 1 and _take_turns(calls, mine):
            of_thread[used] = used[0]
            merged = True
    begin = np.full(threads, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(begin, of_thread[calls.thread[outer]], calls.start_ns[outer])
    return HostChains(of_thread, begin, merged)


def _take_turns(calls: HostCalls, rows: npt.NDArray[np.intp]) -> bool:
    order = rows[np.argsort(calls.start_ns[rows], kind="stable")]
    thread, start, end = calls.thread[order], calls.start_ns[order], calls.end_ns[order]
    switched = thread[1:] != thread[:-1]
    overlapping = switched & (start[1:] < np.maximum.accumulate(end)[:-1])
    return bool(overlapping.sum() <= MAX_OVERLAP * len(rows) and switched.sum() <= MAX_SWITCHES * len(rows))


class ChainIndex:
    """The last marked call of a chain that ended by a time? Built once, asked with arrays."""

    def __init__(self, chain: Int64Array, ends: Int64Array) -> None:
        self._clock = ThreadClock.of(ends)
        self._chain = chain
        self._keys = self._clock.key(chain, ends)
        if np.any(self._keys[1:] < self._keys[:-1]):
            raise ValueError("marked calls must be sorted by (chain, end)")

    def last_before(self, chain: Int64Array, times: Int64Array) -> Int64Array:
        """Position of the last marked call of each chain that ended at or before each time, or -1."""
        if not len(self._keys):
            return np.full(len(chain), -1, np.int64)
        wanted = chain.astype(np.int64) * self._clock.span_ns + np.clip(
            times - self._clock.origin_ns, -1, self._clock.span_ns - 1
        )
        position = np.searchsorted(self._keys, wanted, side="right") - 1
        found = np.maximum(position, 0)
        return np.where((position >= 0) & (self._chain[found] == chain), position, -1)
