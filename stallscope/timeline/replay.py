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
from stallscope.timeline.edges import EdgeKind, Edges
from stallscope.timeline.intervals import Int64Array, IntervalSet
from stallscope.timeline.longest_path import NEVER, PathModel

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


class Replayer:
    """Replays one graph under many changes; what all of them share is worked out once."""

    def __init__(self, graph: DependencyGraph) -> None:
        self._graph = graph
        self._whole = _model(graph, graph.edges)

    def ends(self, change: Change = NOTHING) -> Int64Array:
        """Earliest end of every node under the change. Taking anything away never makes a node later."""
        graph, edges, model = self._graph, self._graph.edges, self._whole
        if change.dropped:
            edges = edges.take(~np.isin(edges.kind, change.dropped))
            model = _model(graph, edges)
        lag = edges.lag_ns
        if change.unblocked is not None:
            lag = np.where((edges.kind == EdgeKind.SYNC) & change.unblocked[edges.after], NEVER, lag)
        duration = graph.duration_ns
        if change.shorter_ns is not None:
            duration = np.maximum(duration - change.shorter_ns, 0)
        return model.ends(_offsets(graph, change), lag, duration)


def replay(graph: DependencyGraph, change: Change = NOTHING) -> Int64Array:
    """One replay: earliest end of every node under the change."""
    return Replayer(graph).ends(change)


def binding_edges(graph: DependencyGraph, ends: Int64Array) -> Int64Array:
    """The edge (an index into the graph's edges) that held each node up in a replay without change, or HOST_EDGE."""
    edges = graph.edges
    tight = ends[edges.before] + edges.lag_ns == (ends - graph.duration_ns)[edges.after]
    binding = np.full(len(graph), HOST_EDGE, np.int64)
    binding[edges.after[tight]] = np.flatnonzero(tight)
    return binding


def _model(graph: DependencyGraph, edges: Edges) -> PathModel:
    pointer = np.searchsorted(edges.after, np.arange(len(graph) + 1)).astype(np.int64)
    return PathModel(graph.legs.wait, pointer, edges.before, graph.stream)


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
