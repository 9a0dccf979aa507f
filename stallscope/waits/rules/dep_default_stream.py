"""dep.default_stream: the legacy default stream serialises streams that could run together.

Work on the legacy default stream waits for all blocking streams and they wait for it. The device looks busy, but with
kernels that do not fill it. The wait lies behind a busy device, so it is told beside the ledger.
"""

from __future__ import annotations

import numpy as np

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, Kernels, StreamFlag, Streams
from stallscope.model.experiments import Experiment
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.waits.alternation import small
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.behind import MIN_WAIT_NS, Behind, behind_detection, follows, stream_ready_ns
from stallscope.waits.streams import stream_flags

MIN_HELD = 8

META = RuleMeta(
    id="dep.default_stream",
    title="The legacy default stream serialises independent streams",
    layer="beside",
    needs=(ApiCalls, Kernels, Streams),
)

EXPERIMENTS = (
    Experiment(
        title="Leave the legacy default stream",
        change="Create streams with cudaStreamNonBlocking, or compile with a default stream per thread",
        apply=("cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);", "nvcc --default-stream per-thread"),
        measure=measure("-- ./program"),
        refuted_if="the kernels are on non-blocking streams and still run one after the other",
        numerics="bit-identical",
        effort="flag",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim the time from ready to start of kernels held by a kernel of the default stream, or the reverse."""
    if not len(view[Streams]):
        return None
    held, ready = _held(view)
    if len(held) < MIN_HELD:
        return None
    behind = Behind(
        level="supported",
        assumes="the kernels are independent and the device has room for both",
        counted=Fact("kernels held by another stream's kernel", len(held), "count", Kernels),
        table=Kernels,
        facts=(Fact("streams involved", len(np.unique(view.stream_order.stream(held))), "count", Streams),),
    )
    return behind_detection(view, held, ready, behind)


def _held(view: View) -> tuple[Int64Array, Int64Array]:
    """Kernels that were ready but started only when a small kernel of another blocking stream had ended."""
    operations, launch = view.operations, view.launch
    rows = np.flatnonzero((operations.kind == OperationKind.COMPUTE) & (launch != NO_ROW) & ~view.from_graph)
    before, row = rows[:-1], rows[1:]
    flag = stream_flags(view, rows)
    null, blocking = flag == StreamFlag.NULL, flag == StreamFlag.BLOCKING
    pair = follows(view, before, row) & (operations.process[before] == operations.process[row])
    stream = view.stream_order.stream(rows)
    pair &= stream[:-1] != stream[1:]
    pair &= (null[:-1] & blocking[1:]) | (blocking[:-1] & null[1:])
    row = row[pair][small(view, before[pair])]
    if not len(row):
        return row, row
    predecessor = view.stream_order.predecessor[row]
    ready = stream_ready_ns(view, row)
    elsewhere = (predecessor != NO_ROW) & (operations.device[predecessor] != operations.device[row])
    ready[elsewhere] = operations.start_ns[row[elsewhere]]  # context ids of several devices mixed up: not judged
    waited = operations.start_ns[row] - ready >= MIN_WAIT_NS
    return row[waited], ready[waited]


RULE = Rule(META, detect, EXPERIMENTS)
