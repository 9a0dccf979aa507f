"""What had to happen before what: device operations and host waits as the nodes of a longest-path model.

A node is a device operation or a host call that waits for the device. Between two waits a host thread is rigid: its
calls and the time between them only shift. Every edge goes from an earlier to a later node and carries a lag; with the
measured durations, the longest path through the model should give the measured times back (`replay.py`). Dependencies
through memory are in no table and so not in the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.timeline.cross_stream import cross_stream_edges
from stallscope.timeline.edges import EdgeKind, Edges, join
from stallscope.timeline.host_chains import ChainIndex, HostChains, host_chains
from stallscope.timeline.host_waits import HostWaits, host_waits
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.lags import launch_lags, stream_lags
from stallscope.timeline.rows import RowArray
from stallscope.timeline.timeline import Timeline


@dataclass(frozen=True, slots=True)
class HostLegs:
    """The stretch of a host chain that leads to each node: from the last wait (or the chain's beginning) to its call.

    `wait` is the node of that wait or NO_ROW, `[from_ns, to_ns)` the stretch in measured time, `lag_ns` what follows
    it: launch latency of an operation, cost of a wait with nothing to wait for. Chain NO_ROW means that no launch is
    known: the node keeps its measured time.
    """

    chain: Int64Array
    wait: Int64Array
    from_ns: Int64Array
    to_ns: Int64Array
    lag_ns: Int64Array

    def renumbered(self, entry: Int64Array, node: Int64Array) -> HostLegs:
        """In node order: `entry[n]` is the present place of node n, `node` the reverse."""
        wait = _at(node, self.wait, self.wait)
        return HostLegs(*(column[entry] for column in (self.chain, wait, self.from_ns, self.to_ns, self.lag_ns)))


@dataclass(frozen=True, slots=True)
class DependencyGraph:
    """Nodes in an order in which every edge points forward.

    `operation` is the row of `Operations` and `stream` its stream (NO_ROW for waits), `call` the waiting row of
    `HostCalls` (NO_ROW for operations). `edges` hold node numbers and are sorted by their later node. `inferred_events`
    counts event waits that were linked to their record by inference, `merged_threads` tells that threads of a process
    were taken to wait for each other.
    """

    operation: Int64Array
    stream: Int64Array
    call: Int64Array
    duration_ns: Int64Array
    measured_end_ns: Int64Array
    legs: HostLegs
    edges: Edges
    recorded_events: int
    inferred_events: int
    merged_threads: bool
    chain_of_thread: Int64Array

    def __len__(self) -> int:
        return len(self.operation)

    def node_of_operation(self, operations: int) -> Int64Array:
        """Node of each of that many rows of `Operations`."""
        nodes = np.full(operations, NO_ROW, np.int64)
        rows = np.flatnonzero(self.operation != NO_ROW)
        nodes[self.operation[rows]] = rows
        return nodes


def dependency_graph(timeline: Timeline) -> DependencyGraph:
    """Build the model of one timeline; linear in its events up to sorting."""
    operations, calls, launch = timeline.operations, timeline.calls, timeline.launch
    launched, order = timeline.launched_ns(), timeline.stream_order
    waits, across = host_waits(timeline, order), cross_stream_edges(timeline, order)
    chains = host_chains(calls, len(timeline.trace.threads))
    previous = order.predecessor
    legs = _legs(timeline, chains, waits, launch_lags(operations, calls, launch, previous))
    edges = join(
        (
            _stream_edges(previous, stream_lags(operations, calls, launch, previous)),
            across.edges,
            Edges.of(waits.operation, waits.pair + len(operations), waits.return_ns[waits.pair], EdgeKind.SYNC),
        )
    )
    # Entries so far: operations, then waits. A node's number is its place in time; a wait goes before what it lets go.
    none = np.full(len(operations), NO_ROW, np.int64)
    times = np.concatenate((np.maximum(operations.start_ns, launched), calls.end_ns[waits.call]))
    entry = np.lexsort((np.arange(len(times)) < len(operations), times)).astype(np.int64)
    node = np.empty_like(entry)
    node[entry] = np.arange(len(entry))
    return DependencyGraph(
        operation=np.concatenate((np.arange(len(operations)), np.full(len(waits.call), NO_ROW)))[entry],
        stream=np.concatenate((order.of_row, np.full(len(waits.call), NO_ROW)))[entry],
        call=np.concatenate((none, waits.call))[entry],
        duration_ns=np.concatenate((operations.end_ns - operations.start_ns, np.zeros_like(waits.call)))[entry],
        measured_end_ns=np.concatenate((operations.end_ns, calls.end_ns[waits.call]))[entry],
        legs=legs.renumbered(entry, node),
        edges=_forward(edges, node),
        recorded_events=across.recorded,
        inferred_events=across.inferred,
        merged_threads=chains.merged,
        chain_of_thread=chains.of_thread,
    )


def _at(values: Int64Array, rows: Int64Array | RowArray, otherwise: Int64Array) -> Int64Array:
    """`values[rows]`, and `otherwise` where the row is NO_ROW."""
    found: Int64Array = otherwise.copy()
    known = rows != NO_ROW
    found[known] = values[rows[known]]
    return found


def _forward(edges: Edges, node: Int64Array) -> Edges:
    """Edges between nodes, by later node; one against the order of the measured times is no dependency."""
    numbered = Edges(node[edges.before], node[edges.after], edges.lag_ns, edges.kind)
    forward = np.flatnonzero(numbered.before < numbered.after)
    return numbered.take(forward[np.argsort(numbered.after[forward], kind="stable")])


def _stream_edges(previous: RowArray, lag: Int64Array) -> Edges:
    rows = np.flatnonzero(previous != NO_ROW)
    return Edges.of(previous[rows].astype(np.int64), rows.astype(np.int64), lag[rows], EdgeKind.STREAM)


def _legs(timeline: Timeline, chains: HostChains, waits: HostWaits, launch_lag: Int64Array) -> HostLegs:
    """Legs of the operations, then of the waits; `wait` is an entry (operations come first)."""
    calls, operations = timeline.calls, timeline.operations
    call: Int64Array = np.concatenate((timeline.launch, waits.call))
    anchored = np.concatenate((operations.start_ns, calls.end_ns[waits.call]))
    chain = _at(chains.of_thread[calls.thread], call, np.full(len(call), NO_ROW, np.int64))
    to = _at(calls.start_ns, call, anchored)
    wait = _last_waits(timeline, chains, waits, (chain, to))
    begins = _at(chains.begin_ns, chain, to)
    return HostLegs(
        chain=chain,
        wait=np.where(wait == NO_ROW, NO_ROW, wait + len(operations)),
        from_ns=_at(calls.end_ns[waits.call], wait, begins),
        to_ns=to,
        lag_ns=np.concatenate((launch_lag, waits.floor_ns)),
    )


def _last_waits(
    timeline: Timeline, chains: HostChains, waits: HostWaits, queries: tuple[Int64Array, Int64Array]
) -> Int64Array:
    """Position in `waits` of the last wait of each (chain, time), or NO_ROW."""
    calls = timeline.calls
    chain = chains.of_thread[calls.thread[waits.call]]
    sequence = np.lexsort((calls.end_ns[waits.call], chain)).astype(np.int64)
    index = ChainIndex(chain[sequence], calls.end_ns[waits.call][sequence])
    return _at(sequence, index.last_before(*queries), np.full(len(queries[0]), NO_ROW, np.int64))
