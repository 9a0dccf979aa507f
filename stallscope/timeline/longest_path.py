"""Longest path through the dependency model, exact and linear.

The recurrence `end = max(host, max(before.end + lag)) + duration` is sequential, but most nodes are simple: queued
behind one operation of their stream, led to by the same wait. For a run of such nodes behind a head with end E, led to
by a wait with end W, every end is max(E + A, W + B), where A and B are prefix sums and prefix maxima of the run, so
that only the heads are visited one by one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.intervals import Int64Array, expand

NEVER = -(1 << 61)
"""Lag of an edge that does not hold; time stamps of a trace are below 2^61 ns (73 years)."""

_LARGEST = 1 << 61


class PathModel:
    """Nodes in topological order with what leads to them; asked again and again with other times.

    A node's host is there some offset after the end of node `wait`, or at an absolute time where that is NO_ROW. The
    edges into node n are `pointer[n]` … `pointer[n + 1]`, with their earlier node in `before`. `lane` is the stream of
    a node (NO_ROW: none); it only helps to find runs.
    """

    def __init__(self, wait: Int64Array, pointer: Int64Array, before: Int64Array, lane: Int64Array) -> None:
        self.wait, self.pointer, self.before = wait, pointer, before
        self._order = np.lexsort((np.arange(len(wait)), lane))
        self._follows = self._find_followers(lane)
        self._run = np.cumsum(~self._follows) - 1
        self._first = np.flatnonzero(~self._follows)
        self._edge = pointer[self._order[self._follows]]
        # Heads are visited in node order, so that everything before a head is known.
        head = self._order[self._first]
        by_node = np.argsort(head, kind="stable")
        rank = np.empty(len(head), np.int64)
        rank[by_node] = np.arange(len(head))
        self._head = head[by_node]
        self._run_of_node = np.empty(len(wait), np.int64)
        self._run_of_node[self._order] = rank[self._run]

    def _find_followers(self, lane: Int64Array) -> npt.NDArray[np.bool_]:
        """In lane order: whether the node is simple and behind the one before it, led to by the same wait."""
        follows = np.zeros(len(self._order), np.bool_)
        if len(self._order) < 2 or not len(self.before):
            return follows
        node, previous = self._order[1:], self._order[:-1]
        edge = np.minimum(self.pointer[node], len(self.before) - 1)
        follows[1:] = (
            (lane[node] == lane[previous])
            & (lane[node] != NO_ROW)
            & (self.pointer[node + 1] - self.pointer[node] == 1)
            & (self.before[edge] == previous)
            & (self.wait[node] == self.wait[previous])
        )
        return follows

    def ends(self, offset: Int64Array, lag: Int64Array, duration: Int64Array) -> Int64Array:
        """End of every node, nanoseconds, from one offset and duration a node and one lag an edge.

        An edge with the lag NEVER holds nothing up; it must not lead to a node that only follows its stream.
        """
        relative = self._relative(offset, lag, duration)
        if relative is None:
            return np.array(sequential_ends(self, offset, lag, duration), np.int64)
        after_head, after_wait = relative
        head, led = self._head_ends((offset, lag, duration), after_head, after_wait)
        found: Int64Array = np.maximum(head[self._run_of_node] + after_head, led[self._run_of_node] + after_wait)
        return found

    def _relative(
        self, offset: Int64Array, lag: Int64Array, duration: Int64Array
    ) -> tuple[Int64Array, Int64Array] | None:
        """A and B of every node relative to its run's head and wait; None where numbers would not fit into 64 bits."""
        order, follows = self._order, self._follows
        step = np.zeros(len(order), np.int64)
        step[follows] = lag[self._edge] + duration[order[follows]]
        total = np.cumsum(step)
        after_head = total - total[self._first][self._run]
        late = offset[order] + duration[order] - after_head
        low, high = int(late.min(initial=0)), int(late.max(initial=0))
        stride = high - low + 2
        if stride * len(self._first) >= _LARGEST:
            return None
        base = self._run * stride
        latest = np.maximum.accumulate(np.where(follows, late - low + 1, 0) + base) - base + low - 1
        a, b = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        a[order], b[order] = after_head, np.where(follows, after_head + latest, NEVER)
        return a, b

    def _head_ends(
        self, times: tuple[Int64Array, Int64Array, Int64Array], after_head: Int64Array, after_wait: Int64Array
    ) -> tuple[Int64Array, Int64Array]:
        """End of every run's head, and of the wait that leads to the run (0 where offsets are absolute)."""

        def known(node: Int64Array) -> tuple[list[int], list[int], list[int]]:
            return self._run_of_node[node].tolist(), after_head[node].tolist(), after_wait[node].tolist()

        wait, offset, duration = (column[self._head].tolist() for column in (self.wait, times[0], times[2]))
        wait_run, wait_a, wait_b = known(np.maximum(self.wait[self._head], 0))
        _, edges = expand(self.pointer[self._head], self.pointer[self._head + 1])
        edge_run, edge_a, edge_b = known(self.before[edges])
        lag, after = times[1][edges].tolist(), np.cumsum(np.diff(self.pointer)[self._head]).tolist()
        end, led = [0] * len(wait), [0] * len(wait)
        first = 0
        for index, last in enumerate(after):
            if wait[index] != NO_ROW:
                run = wait_run[index]
                led[index] = max(end[run] + wait_a[index], led[run] + wait_b[index])
            ready = led[index] + offset[index]
            for edge in range(first, last):
                run = edge_run[edge]
                ready = max(ready, max(end[run] + edge_a[edge], led[run] + edge_b[edge]) + lag[edge])
            first = last
            end[index] = ready + duration[index]
        return np.array(end, np.int64), np.array(led, np.int64)


def sequential_ends(model: PathModel, offset: Int64Array, lag: Int64Array, duration: Int64Array) -> list[int]:
    """The recurrence as it stands; the definition that the fast way must agree with."""
    wait, offsets, durations = model.wait.tolist(), offset.tolist(), duration.tolist()
    pointer, before, lags = model.pointer.tolist(), model.before.tolist(), lag.tolist()
    end = [0] * len(wait)
    for node, held in enumerate(wait):
        ready = offsets[node] if held == NO_ROW else end[held] + offsets[node]
        for edge in range(pointer[node], pointer[node + 1]):
            ready = max(ready, end[before[edge]] + lags[edge])
        end[node] = ready + durations[node]
    return end
