"""The chain of nodes that decides when the last operation ends, and what its time is spent on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.replay import BOUNDS, Bound
from stallscope.timeline.calls import LAUNCHES, CallKind
from stallscope.timeline.dependencies import DependencyGraph
from stallscope.timeline.edges import EdgeKind
from stallscope.timeline.intervals import EMPTY, Int64Array, IntervalSet, intersect, is_one_of, subtract, union
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
    """Disjoint spans of the path by bound, in measured time."""

    spans: dict[Bound, IntervalSet]

    def parts_ns(self) -> dict[Bound, int]:
        """Time by bound; the path has no holes, so the parts sum to its length."""
        return {bound: intervals.total_ns() for bound, intervals in self.spans.items() if intervals.total_ns()}


def critical_path(timeline: Timeline, graph: DependencyGraph, baseline: Int64Array) -> Path:
    """Walk back from the operation that ends last along what held each node up, to the first operation's start.

    `baseline` are the ends of the nodes in a replay without change.
    """
    binding = binding_edges(graph, baseline)
    nodes = _walk(graph, binding, baseline)
    if not len(nodes):
        return Path(dict.fromkeys(BOUNDS, EMPTY))
    times, bounds = _explained(timeline, graph, nodes, binding[nodes])
    first = int(timeline.operations.start_ns.min())
    spans = {bound: _spans(times, bounds == index, first) for index, bound in enumerate(BOUNDS)}
    submitting = _submitting(timeline)
    spans["launch"] = _merged(spans["launch"], intersect(spans["host"], submitting))
    spans["host"] = subtract(spans["host"], submitting)
    return Path(spans)


def _walk(graph: DependencyGraph, binding: Int64Array, ends: Int64Array) -> Int64Array:
    """Nodes of the path, last to first."""
    operations = np.flatnonzero(graph.operation != NO_ROW)
    if not len(operations):
        return np.empty(0, np.int64)
    held = binding != HOST_EDGE
    before = graph.legs.wait.copy()
    before[held] = graph.edges.before[binding[held]]
    chain = before.tolist()
    node = int(operations[np.argmax(ends[operations])])
    nodes = []
    while node != NO_ROW:
        nodes.append(node)
        node = chain[node]
    return np.array(nodes, np.int64)


def _explained(
    timeline: Timeline, graph: DependencyGraph, nodes: Int64Array, binding: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Three stretches a node, backwards in time: down to which time each one reaches, and its bound (index in BOUNDS).

    A node's own time comes first, then the way to it, then the host stretch before that (empty behind an edge).
    """
    start = graph.measured_end_ns[nodes] - graph.duration_ns[nodes]
    by_edge = binding != HOST_EDGE
    edge = np.maximum(binding, 0)
    operation = graph.operation[nodes]
    kind = timeline.operations.kind[np.maximum(operation, 0)]
    own = np.array([BOUNDS.index(_BY_OPERATION[k]) for k in range(len(_BY_OPERATION))])[kind]
    way = np.where(operation == NO_ROW, BOUNDS.index("host"), BOUNDS.index("launch"))
    leg = graph.legs
    reach, origin = leg.to_ns[nodes], leg.from_ns[nodes]
    if len(graph.edges):
        names = np.array([BOUNDS.index(_BY_EDGE[k]) for k in sorted(_BY_EDGE)])
        way = np.where(by_edge, names[graph.edges.kind[edge] - min(_BY_EDGE)], way)
        reach = np.where(by_edge, graph.measured_end_ns[graph.edges.before[edge]], reach)
        origin = np.where(by_edge, reach, origin)
    times = np.column_stack((start, reach, origin)).ravel()
    bounds = np.column_stack((own, way, np.full(len(nodes), BOUNDS.index("host")))).ravel()
    limit = np.minimum.accumulate(np.concatenate((graph.measured_end_ns[nodes[:1]], times)))
    return limit, bounds


def _spans(limit: Int64Array, mine: npt.NDArray[np.bool_], first: int) -> IntervalSet:
    """Stretches [limit[k + 1], limit[k]) of one bound, from `first` on; disjoint, because the limit only falls."""
    return union(np.maximum(limit[1:][mine], first), limit[:-1][mine])


def _submitting(timeline: Timeline) -> IntervalSet:
    """Time in which any thread was inside a call that submits work."""
    calls = timeline.calls
    rows = is_one_of(calls.kind, _SUBMITTING) & calls.outer
    return union(calls.start_ns[rows], calls.end_ns[rows])


def _merged(left: IntervalSet, right: IntervalSet) -> IntervalSet:
    return union(np.concatenate((left.starts, right.starts)), np.concatenate((left.ends, right.ends)))
