"""Runs the dependency model: longest path with the measured durations, and with a wait taken away.

A counterfactual is the same model with something taken away. It is an upper bound: work that moves together competes
for memory, links and multiprocessors, and whatever else was waiting in the shadow of the removed wait now shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.dependencies import DependencyGraph
from stallscope.timeline.edges import EdgeKind
from stallscope.timeline.intervals import Int64Array, IntervalSet
from stallscope.timeline.longest_path import Problem, longest_path

ABSTAIN_ERROR = 0.05
"""A replay that misses the measured time by more than this part does not explain the program."""

HOST_EDGE = -1
"""Binding edge of a node that its host chain held up."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a counterfactual takes away.

    `host` is measured host time, per chain, that costs nothing, and so does the way of a launch to the device in it;
    `shorter_ns` is taken off operations (one value a node); `unblocked` nodes no longer wait for the device; edges of
    the `dropped` kinds do not hold.
    """

    host: Mapping[int, IntervalSet] = field(default_factory=dict)
    shorter_ns: Int64Array | None = None
    unblocked: npt.NDArray[np.bool_] | None = None
    dropped: tuple[EdgeKind, ...] = ()


NOTHING = Change()


@dataclass(frozen=True, slots=True)
class Replay:
    """End of every node, and the edge that held each one up (an index into the graph's edges, or HOST_EDGE)."""

    end_ns: Int64Array
    binding: Int64Array


def replay(graph: DependencyGraph, change: Change = NOTHING) -> Replay:
    """Earliest end of every node under the change. Taking anything away never makes a node later."""
    kept = _kept(graph, change)
    order = kept[np.argsort(graph.edges.after[kept], kind="stable")]
    duration = graph.duration_ns if change.shorter_ns is None else graph.duration_ns - change.shorter_ns
    problem = Problem(
        wait=graph.legs.wait,
        offset=_offsets(graph, change),
        pointer=np.searchsorted(graph.edges.after[order], np.arange(len(graph) + 1)).astype(np.int64),
        before=graph.edges.before[order],
        lag=graph.edges.lag_ns[order],
        duration=np.maximum(duration, 0),
        lane=graph.stream,
    )
    end = longest_path(problem)
    return Replay(end, _binding(graph, order, end, problem))


def _binding(graph: DependencyGraph, order: npt.NDArray[np.intp], end: Int64Array, problem: Problem) -> Int64Array:
    """An edge that ends exactly when its node becomes ready; where none does, the host held the node up."""
    ready = end - problem.duration
    tight = end[problem.before] + problem.lag == ready[graph.edges.after[order]]
    binding = np.full(len(graph), HOST_EDGE, np.int64)
    binding[graph.edges.after[order[tight]]] = order[tight]
    return binding


def _offsets(graph: DependencyGraph, change: Change) -> Int64Array:
    """Host time of every leg that still costs something, plus what follows it; from an origin, the absolute time."""
    legs = graph.legs
    length = legs.to_ns - legs.from_ns + legs.lag_ns
    launched = graph.operation != NO_ROW
    for chain, free in change.host.items():
        rows = np.flatnonzero(legs.chain == chain)
        begin, end = legs.from_ns[rows], legs.to_ns[rows]
        way = np.where(launched[rows], np.maximum(legs.lag_ns[rows], 0), 0)
        length[rows] -= free.covered(begin, end + way)
    return np.where(legs.wait == NO_ROW, legs.from_ns + length, length)


def _kept(graph: DependencyGraph, change: Change) -> npt.NDArray[np.intp]:
    keep = np.ones(len(graph.edges), np.bool_)
    for kind in change.dropped:
        keep &= graph.edges.kind != kind
    if change.unblocked is not None:
        keep &= ~((graph.edges.kind == EdgeKind.SYNC) & change.unblocked[graph.edges.after])
    return np.flatnonzero(keep)
