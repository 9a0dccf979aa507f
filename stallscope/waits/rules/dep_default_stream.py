"""dep.default_stream: the legacy default stream serialises streams that could run together.

Work on the legacy default stream waits for all blocking streams and they wait for it. The device looks busy, but with
kernels that do not fill it. The wait lies behind a busy device, so it is told beside the ledger.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import ApiCalls, Kernels, StreamFlag, Streams
from stallscope.model.experiments import Experiment
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.waits.base import Claims, Detection, Fact, Rule, RuleMeta, View, claim_operations, measure

MIN_HELD = 8
FOLLOWS_NS = 5_000
"""A held kernel starts this soon after the one that held it ends."""
MIN_WAIT_NS = 5_000
DEFAULT_SMS = 100

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
    whole = claim_operations(view, held)
    columns = {name: whole.array(name) for name in Claims.COLUMNS}
    claims = Claims.of(**{**columns, "start_ns": ready, "end_ns": whole.start_ns})
    return Detection(
        claims=claims,
        level="supported",
        assumes="the kernels are independent and the device has room for both",
        low_ratio=0.0,
        facts=(
            Fact("kernels held by another stream's kernel", len(held), "count", Kernels),
            Fact("median wait from ready to start", float(np.median(whole.start_ns - ready)), "ns", Kernels),
            Fact("streams involved", len(np.unique(view.operations.stream[held])), "count", Streams),
        ),
        caveats=("This wait lies behind a busy device: it is not part of the ledger.",),
    )


def _held(view: View) -> tuple[Int64Array, Int64Array]:
    """Kernels that were ready but started only when a small kernel of another blocking stream had ended."""
    operations, calls, launch = view.operations, view.calls, view.launch
    rows = np.flatnonzero((operations.kind == OperationKind.COMPUTE) & (launch != NO_ROW) & ~view.from_graph)
    before, row = rows[:-1], rows[1:]
    null, blocking = _flags(view, rows)
    pair = (operations.device[before] == operations.device[row]) & (
        operations.process[before] == operations.process[row]
    )
    pair &= operations.stream[before] != operations.stream[row]
    pair &= (null[:-1] & blocking[1:]) | (blocking[:-1] & null[1:])
    pair &= _small(view, before)
    gap = operations.start_ns[row] - operations.end_ns[before]
    pair &= (gap >= 0) & (gap <= FOLLOWS_NS)
    row = row[pair]
    if not len(row):
        return row, row
    ready = np.maximum(calls.end_ns[launch[row]], _own_predecessor_end(view, row))
    waited = operations.start_ns[row] - ready >= MIN_WAIT_NS
    return row[waited], ready[waited]


def _flags(view: View, rows: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Flags per operation: on the legacy default stream, and on a blocking stream."""
    streams, operations = view[Streams], view.operations
    known = _stream_key(streams.process, streams.context, streams.stream)
    order = np.argsort(known, kind="stable")
    wanted = _stream_key(operations.process[rows], operations.context[rows], operations.stream[rows])
    at = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    flag = np.where(known[at] == wanted, streams.flag[at], StreamFlag.UNKNOWN)
    return flag == StreamFlag.NULL, flag == StreamFlag.BLOCKING


def _stream_key(process: npt.NDArray[np.int32], context: Int64Array, stream: Int64Array) -> Int64Array:
    """One number for a stream of a context of a process: stream ids have 32 bits, contexts of a process are few."""
    return (process.astype(np.int64) << 48) | ((context & 0xFFFF) << 32) | (stream & 0xFFFFFFFF)


def _small(view: View, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Fewer blocks than the device has SMs: another kernel would have fitted beside it."""
    kernels, operations = view[Kernels], view.operations
    source = operations.row[rows]
    blocks = kernels.grid_x[source].astype(np.int64) * kernels.grid_y[source] * kernels.grid_z[source]
    sms = np.array([device.sm_count or DEFAULT_SMS for device in view.devices])
    return np.asarray(blocks < sms[operations.device[rows]])


def _own_predecessor_end(view: View, rows: Int64Array) -> Int64Array:
    """End of the operation before each on its own stream; 0 where there is none."""
    operations = view.operations
    order = np.lexsort(
        (operations.start_ns, operations.stream, operations.context, operations.process, operations.device)
    )
    position = np.empty(len(operations), np.int64)
    position[order] = np.arange(len(order))
    at = position[rows]
    before = order[np.maximum(at - 1, 0)]
    same = (at > 0) & (operations.stream[before] == operations.stream[rows])
    same &= (operations.context[before] == operations.context[rows]) & (
        operations.device[before] == operations.device[rows]
    )
    return np.where(same, operations.end_ns[before], 0)


RULE = Rule(META, detect, EXPERIMENTS)
