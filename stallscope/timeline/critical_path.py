"""The chain of nodes that decides when the last operation ends, and what its time is spent on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.replay import BOUNDS, Bound
from stallscope.timeline.calls import LAUNCHES, CallKind
from stallscope.timeline.dependencies import DependencyGraph
from stallscope.timeline.edges import EdgeKind
from stallscope.timeline.intervals import EMPTY, Int64Array, IntervalSet, intersect, subtract, union
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.replay import HOST_EDGE, binding_edges
from stallscope.timeline.timeline import Timeline

_SUBMITTING = (*LAUNCHES, CallKind.COPY, CallKind.MEMSET)
_BY_OPERATION: dict[int, Bound] = {
    OperationKind.COMPUTE: "compute",
    OperationKind.COMMUNICATION: "comm",
    OperationKind.COPY: "copy",
    OperationKind.MEMSET: "compute",
    OperationKind.GRAPH: "compute",
}
_BY_EDGE: dict[int, Bound] = {
    EdgeKind.STREAM: "launch",
    EdgeKind.EVENT: "dependency",
    EdgeKind.LEGACY_STREAM: "dependency",
    EdgeKind.GRAPH: "dependency",
    EdgeKind.SYNC: "host",
}


@dataclass(frozen=True, slots=True)
class Path:
    """Disjoint spans of the path by bound, in measured time, and its nodes, first to last."""

    spans: dict[Bound, IntervalSet]
    nodes: Int64Array

    def parts_ns(self) -> dict[Bound, int]:
        """Time by bound; the path has no holes, so the parts sum to its length."""
        return {bound: intervals.total_ns() for bound, intervals in self.spans.items() if intervals.total_ns()}


def critical_path(timeline: Timeline, graph: DependencyGraph, baseline: Int64Array) -> Path:
    """Walk back from the operation that ends last along what held each node up, to the first operation's start.

    `baseline` are the ends of the nodes in a replay without change.
    """
    walk = _Walk(timeline, graph, baseline)
    if (graph.operation != NO_ROW).any():
        walk.run()
    operations = timeline.operations
    first = int(operations.start_ns.min()) if len(operations) else 0
    spans = {bound: walk.spans_of(bound, first) for bound in BOUNDS}
    submitting = _submitting(timeline)
    spans["launch"] = _merged(spans["launch"], intersect(spans["host"], submitting))
    spans["host"] = subtract(spans["host"], submitting)
    return Path(spans, np.array(walk.nodes[::-1], np.int64))


def _submitting(timeline: Timeline) -> IntervalSet:
    """Time in which any thread was inside a call that submits work."""
    calls = timeline.calls
    rows = np.isin(calls.kind, _SUBMITTING) & calls.outer
    return union(calls.start_ns[rows], calls.end_ns[rows])


def _merged(left: IntervalSet, right: IntervalSet) -> IntervalSet:
    return union(np.concatenate((left.starts, right.starts)), np.concatenate((left.ends, right.ends)))


class _Walk:
    """One walk. Spans are cut at `_limit`, the beginning of what was already explained, so that they are disjoint."""

    def __init__(self, timeline: Timeline, graph: DependencyGraph, baseline: Int64Array) -> None:
        kinds = timeline.operations.kind
        self._graph = graph
        self._binding = binding_edges(graph, baseline)
        self._bounds = [_BY_OPERATION[k] for k in range(len(_BY_OPERATION))]
        self._kind = np.where(graph.operation == NO_ROW, NO_ROW, kinds[np.maximum(graph.operation, 0)])
        launched = np.flatnonzero(graph.operation != NO_ROW)
        self._last = int(launched[np.argmax(baseline[launched])]) if len(launched) else NO_ROW
        self._limit = 0
        self._found: dict[Bound, list[tuple[int, int]]] = {bound: [] for bound in BOUNDS}
        self.nodes: list[int] = []

    def run(self) -> None:
        """Follow the path from the last node to its beginning."""
        node = self._last
        self._limit = int(self._graph.measured_end_ns[node])
        while node != NO_ROW:
            self.nodes.append(node)
            end = int(self._graph.measured_end_ns[node])
            start = end - int(self._graph.duration_ns[node])
            kind = int(self._kind[node])
            if kind != NO_ROW:
                self._take(start, self._bounds[kind])
            node = self._before(node)

    def _before(self, node: int) -> int:
        """The node that held this one up, with the time between them taken."""
        graph, edge = self._graph, int(self._binding[node])
        if edge != HOST_EDGE:
            before = int(graph.edges.before[edge])
            self._take(int(graph.measured_end_ns[before]), _BY_EDGE[int(graph.edges.kind[edge])])
            return before
        legs = graph.legs
        if int(legs.chain[node]) == NO_ROW:
            return NO_ROW
        self._take(int(legs.to_ns[node]), "launch" if int(graph.operation[node]) != NO_ROW else "host")
        self._take(int(legs.from_ns[node]), "host")
        return int(legs.wait[node])

    def _take(self, start: int, bound: Bound) -> None:
        """The time from `start` to the limit belongs to the bound."""
        if start < self._limit:
            self._found[bound].append((start, self._limit))
            self._limit = start

    def spans_of(self, bound: Bound, first: int) -> IntervalSet:
        """All time taken for a bound, from `first` on."""
        pairs = np.array(self._found[bound], np.int64).reshape(-1, 2)
        return union(np.maximum(pairs[:, 0], first), pairs[:, 1]) if len(pairs) else EMPTY
