"""Longest path through the dependency model, exact and linear.

The recurrence `end = max(host, max(before.end + lag)) + duration` is sequential, but most nodes are simple: queued
behind one operation of their stream, led to by the same wait. For a run of such nodes behind a head with end E, led to
by a wait with end W, every end is max(E + A, W + B), where A and B are prefix sums and prefix maxima of the run, so
that only the heads are visited one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.intervals import Int64Array

_NEVER = -(1 << 61)
_LARGEST = 1 << 61


@dataclass(frozen=True, slots=True)
class Problem:
    """Nodes in topological order.

    A node's host is there `offset` after the end of node `wait`, or at the absolute time `offset` where that is NO_ROW.
    The edges into node n are `pointer[n]` … `pointer[n + 1]`, with their earlier node and their lag. `lane` is the
    stream of a node (NO_ROW: none); it only helps to find runs.
    """

    wait: Int64Array
    offset: Int64Array
    pointer: Int64Array
    before: Int64Array
    lag: Int64Array
    duration: Int64Array
    lane: Int64Array


def longest_path(problem: Problem) -> Int64Array:
    """End of every node, nanoseconds."""
    runs = _runs(problem)
    if runs is None:
        return np.array(sequential_ends(problem), np.int64)
    head, wait = _head_ends(problem, runs)
    ends: Int64Array = np.maximum(head[runs.of_node] + runs.after_head, wait[runs.of_node] + runs.after_wait)
    return ends


def sequential_ends(problem: Problem) -> list[int]:
    """The recurrence as it stands; the definition that the fast way must agree with."""
    wait, offset, duration = problem.wait.tolist(), problem.offset.tolist(), problem.duration.tolist()
    pointer, before, lag = problem.pointer.tolist(), problem.before.tolist(), problem.lag.tolist()
    end = [0] * len(wait)
    for node, held in enumerate(wait):
        ready = offset[node] if held == NO_ROW else end[held] + offset[node]
        for edge in range(pointer[node], pointer[node + 1]):
            ready = max(ready, end[before[edge]] + lag[edge])
        end[node] = ready + duration[node]
    return end


@dataclass(frozen=True, slots=True)
class _Runs:
    """`head` is the first node of every run; A and B of every node relative to its run's head and wait."""

    head: Int64Array
    of_node: Int64Array
    after_head: Int64Array
    after_wait: Int64Array


def _runs(problem: Problem) -> _Runs | None:
    """Split the nodes into runs; None where the numbers would not fit into 64 bits."""
    count = len(problem.wait)
    order = np.lexsort((np.arange(count), problem.lane))
    follows = _follows(problem, order)
    run = np.cumsum(~follows) - 1
    first = np.flatnonzero(~follows)
    edge = np.minimum(problem.pointer[order], max(len(problem.lag) - 1, 0))
    lag = problem.lag[edge] if len(problem.lag) else np.zeros(count, np.int64)
    total = np.cumsum(np.where(follows, lag + problem.duration[order], 0))
    after_head = total - total[first][run]
    late = problem.offset[order] + problem.duration[order] - after_head
    low, high = int(late.min(initial=0)), int(late.max(initial=0))
    stride = high - low + 2
    if stride * len(first) >= _LARGEST:
        return None
    base = run * stride
    latest = np.maximum.accumulate(np.where(follows, late - low + 1, 0) + base) - base + low - 1
    after_wait = np.where(follows, after_head + latest, _NEVER)
    of_node, a, b = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    of_node[order], a[order], b[order] = run, after_head, after_wait
    # Heads are visited in node order, so that everything before a head is known.
    head = order[first]
    rank = np.empty(len(head), np.int64)
    rank[np.argsort(head, kind="stable")] = np.arange(len(head))
    return _Runs(np.sort(head), rank[of_node], a, b)


def _follows(problem: Problem, order: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
    """In lane order: whether the node is simple and behind the one before it, led to by the same wait."""
    follows = np.zeros(len(order), np.bool_)
    if len(order) < 2 or not len(problem.before):
        return follows
    node, previous = order[1:], order[:-1]
    degree = problem.pointer[node + 1] - problem.pointer[node]
    edge = np.minimum(problem.pointer[node], len(problem.before) - 1)
    follows[1:] = (
        (problem.lane[node] == problem.lane[previous])
        & (problem.lane[node] != NO_ROW)
        & (degree == 1)
        & (problem.before[edge] == previous)
        & (problem.wait[node] == problem.wait[previous])
    )
    return follows


def _head_ends(problem: Problem, runs: _Runs) -> tuple[Int64Array, Int64Array]:
    """End of every run's head, and of the wait that leads to the run (0 where offsets are absolute)."""
    heads = runs.head.tolist()
    wait, offset, duration = (a[runs.head].tolist() for a in (problem.wait, problem.offset, problem.duration))
    begin, stop = problem.pointer[runs.head].tolist(), problem.pointer[runs.head + 1].tolist()
    before, lag = problem.before, problem.lag
    run_of, a, b = runs.of_node, runs.after_head, runs.after_wait
    end, led = [0] * len(heads), [0] * len(heads)

    def end_of(node: int) -> int:
        run = int(run_of[node])
        return max(end[run] + int(a[node]), led[run] + int(b[node]))

    for index in range(len(heads)):
        led[index] = 0 if wait[index] == NO_ROW else end_of(wait[index])
        ready = led[index] + offset[index]
        for edge in range(begin[index], stop[index]):
            ready = max(ready, end_of(int(before[edge])) + int(lag[edge]))
        end[index] = ready + duration[index]
    return np.array(end, np.int64), np.array(led, np.int64)
