"""copy.engine_queue: a short copy that is ready waits until a long one of the same direction lets go of the engine.

A copy engine serves one direction and one copy at a time, in the order in which copies become ready, whatever stream
they are on. The work behind the short copy waits with it. The device looks busy meanwhile, so it is told beside the
ledger.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, Copies, CopyKind, Streams, Syncs
from stallscope.model.experiments import Experiment
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.behind import MIN_WAIT_NS, Behind, behind_detection, follows, stream_ready_ns
from stallscope.waits.held import last_event_wait
from stallscope.waits.streams import on_null_stream

MIN_HELD = 4
TIMES_LONGER = 4
"""The copy in front takes this many times as long. Copies of one size take turns: the engine is full, none is late."""

META = RuleMeta(
    id="copy.engine_queue",
    title="A short copy waits behind a long one of the same direction",
    layer="beside",
    needs=(ApiCalls, Copies, Streams, Syncs),
)

EXPERIMENTS = (
    Experiment(
        title="Let the short copy go first",
        change="Record an event behind the short copy and let the stream of the long one wait for it; issuing it first "
        "is not enough, streams do not order copies",
        apply=("short_done.record(work)", "bulk.wait_event(short_done)  # before the long copy"),
        measure=measure(),
        refuted_if="the short copy ends before the long one begins and the step takes as long",
        numerics="bit-identical",
    ),
    Experiment(
        title="Cut the long copy into pieces",
        change="Copy in chunks of a few MiB, so that the engine is free between them",
        apply=("for part in source.split(1 << 20): target_part.copy_(part, non_blocking=True)",),
        measure=measure(),
        refuted_if="the short copy starts between two chunks and the step takes as long",
        numerics="bit-identical",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the time from ready to start of short copies that begin when a long one of another stream ends."""
    held, ready = _held(view)
    if len(held) < MIN_HELD:
        return None
    length = float(np.median(view.operations.end_ns[held] - view.operations.start_ns[held]))
    behind = Behind(
        level="supported",
        assumes="the short copy goes first, and what waits behind it does not need the long one",
        counted=Fact("short copies held by a long one", len(held), "count", Copies),
        table=Copies,
        facts=(Fact("median length of the held copies", length, "ns", Copies),),
    )
    return behind_detection(view, held, ready, behind)


def _held(view: View) -> tuple[Int64Array, Int64Array]:
    """Short copies with work behind them, and since when nothing but the engine held them."""
    operations = view.operations
    pairs = [_neighbours(view, kind) for kind in (CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST)]
    front, row = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
    front_ns, row_ns = (operations.end_ns[side] - operations.start_ns[side] for side in (front, row))
    near = follows(view, front, row) & (front_ns >= TIMES_LONGER * row_ns)
    front, row = front[near], row[near]
    if not len(row):
        return row, row
    stream = view.stream_order.of_row
    keep = (stream[front] != stream[row]) & ~on_null_stream(view, front) & ~on_null_stream(view, row)
    keep &= _work_behind(view)[row]
    front, row = front[keep], row[keep]
    # What an event wait can stand for was submitted before the wait was: the copy in front was submitted later.
    waited = last_event_wait(view, row)
    independent = view.launched_ns(front) >= waited
    front, row, waited = front[independent], row[independent], waited[independent]
    ready = np.maximum(_ready(view, row, waited), operations.start_ns[front])
    late = operations.start_ns[row] - ready >= MIN_WAIT_NS
    return row[late], ready[late]


def _neighbours(view: View, kind: CopyKind) -> tuple[Int64Array, Int64Array]:
    """Copies of one direction and the next of that direction, in the order in which they started on their device."""
    copies, operations = view[Copies], view.operations
    rows = np.flatnonzero(operations.kind == OperationKind.COPY)
    rows = rows[(view.launch[rows] != NO_ROW) & ~view.from_graph[rows]]
    rows = rows[copies.kind[operations.row[rows]] == kind]
    return rows[:-1], rows[1:]


def _work_behind(view: View) -> npt.NDArray[np.bool_]:
    """Operations with a kernel next on their stream: somebody waits for them."""
    elder = view.stream_order.predecessor
    found = np.zeros(len(view.operations), np.bool_)
    found[elder[(elder != NO_ROW) & (view.operations.kind == OperationKind.COMPUTE)]] = True
    return found


def _ready(view: View, row: Int64Array, waited: Int64Array) -> Int64Array:
    """When each copy could have begun: submitted, its stream free, and all that its event wait can stand for done."""
    waits, which = np.unique(waited, return_inverse=True)
    last_end = np.full(len(waits) + 1, np.iinfo(np.int64).min)
    np.maximum.at(last_end, np.searchsorted(waits, view.launched_ns(), side="right"), view.operations.end_ns)
    return np.maximum(stream_ready_ns(view, row), np.maximum.accumulate(last_end)[which])


RULE = Rule(META, detect, EXPERIMENTS)
