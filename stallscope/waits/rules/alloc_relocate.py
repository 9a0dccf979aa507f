"""alloc.relocate: a buffer grows by copying everything it holds into a larger one.

Seen as device-to-device copies (or concatenation kernels) that get longer step by step: the KV cache of a request that
is concatenated with every new token is copied as often as it grows. The next request starts small again, and the copy
of the new part beside it always has the same size.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.events import Copies, CopyKind, Kernels
from stallscope.model.experiments import Experiment
from stallscope.timeline.grouping import groups
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.rows import picked
from stallscope.waits.base import Detection, Fact, Rule, RuleMeta, View, measure
from stallscope.waits.claims import claim_operations

MIN_GROWTHS = 8
MIN_BYTES = 64 << 10
MIN_FIT = 0.9
"""Squared correlation of size and order: a growing buffer is a straight line, a mix of copies is none."""
MIN_GROWTH = 1.5
MIN_STRETCH = 3
RESTART = 0.5
"""A size below this part of the largest before it starts a new buffer: the next sequence, the next batch."""
OFTEN = 2
"""A size that comes more than this many times as often as the median one does not grow: it is what is appended."""
CONCATENATION = r"CatArrayBatchedCopy|concat|triton_.*_cat_"

META = RuleMeta(
    id="alloc.relocate",
    title="A growing buffer is copied whole at every growth",
    layer="kernel",
    needs=(Kernels,),
    uses=(Copies,),
)

EXPERIMENTS = (
    Experiment(
        title="Allocate the final size once and write in place",
        change="Preallocate the cache for the longest sequence and write the new part by index",
        apply=(
            "cache = torch.empty(max_len, …); cache.index_copy_(0, pos, new)",
            "transformers StaticCache, paged attention",
        ),
        measure=measure(),
        refuted_if="no growing copies are left and the step takes as long",
        numerics="bit-identical",
    ),
    Experiment(
        title="Grow by mapping",
        change="Reserve an address range once and map more physical memory behind it as the cache grows. (torch's "
        "expandable segments do not remove a torch.cat copy.)",
        apply=(
            "cuMemAddressReserve(&base, max, 0, 0, 0)",
            "cuMemCreate(&h, chunk, …); cuMemMap(base + size, chunk, 0, h, 0)",
        ),
        measure=measure("-- ./program"),
        refuted_if="the base address stays the same, no copy is left and the step takes as long",
        numerics="bit-identical",
        effort="rewrite",
    ),
)


def detect(view: View) -> Detection | None:
    """Claim device-to-device copies and concatenations whose size rises steadily."""
    copied = _growing_copies(view)
    joined = _growing_kernels(view)
    rows = np.concatenate((copied, joined))
    if not len(rows):
        return None
    took = view.operations.end_ns[rows] - view.operations.start_ns[rows]
    table = Copies if len(copied) else Kernels
    return Detection(
        claims=claim_operations(view, rows),
        level="supported" if len(copied) else "indicated",
        assumes="the buffer no longer moves when it grows",
        low_ratio=0.5,
        facts=(
            Fact("growing device-to-device copies", len(copied), "count", Copies if len(copied) else Kernels),
            Fact("growing concatenations", len(joined), "count", Kernels),
            Fact("time in them", int(took.sum()), "ns", table),
            Fact("longest against shortest", float(took.max() / max(took.min(), 1)), "ratio", table),
        ),
    )


def _growing_copies(view: View) -> Int64Array:
    copies, operations = view.find(Copies), view.operations
    if copies is None:
        return np.empty(0, np.int64)
    rows = np.flatnonzero(operations.kind == OperationKind.COPY)
    source = operations.row[rows]
    large = (copies.kind[source] == CopyKind.DEVICE_TO_DEVICE) & (copies.bytes[source] >= MIN_BYTES)
    return _rising(view, rows[large], copies.bytes[source[large]])


def _growing_kernels(view: View) -> Int64Array:
    operations = view.operations
    rows = np.flatnonzero(
        (operations.kind == OperationKind.COMPUTE) & picked(view.names.matching(CONCATENATION), operations.name)
    )
    return _rising(view, rows, operations.end_ns[rows] - operations.start_ns[rows])


def _rising(view: View, rows: npt.NDArray[np.intp], size: Int64Array) -> Int64Array:
    """Rows of each stream in stretches whose sizes rise along a line, with at least MIN_GROWTHS distinct sizes."""
    found = [np.empty(0, np.int64)]
    stream = view.stream_order.stream(rows)
    for one in np.unique(stream):
        mine = np.flatnonzero(stream == one)
        mine = mine[~_constant(size[mine])]
        grown = _grown(size[mine])
        found.append(rows[mine[grown]])
    return np.concatenate(found)


def _constant(size: Int64Array) -> npt.NDArray[np.bool_]:
    """Copies of a size that comes far more often than the others: what is appended, not what moves."""
    _, of, times = np.unique(size, return_inverse=True, return_counts=True)
    return np.asarray((times > OFTEN * np.median(times))[of]) if len(times) else np.zeros(0, np.bool_)


def _grown(size: Int64Array) -> npt.NDArray[np.bool_]:
    """Copies of one stream that belong to growing buffers; none when no buffer of the stream grows for long."""
    if not len(size):
        return np.zeros(0, np.bool_)
    first = _beginnings(size)
    of = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(size))))
    distinct = np.bincount(of[groups(of, size).first], minlength=len(first))
    on_a_line = (distinct >= MIN_STRETCH) & _rises_along_a_line(size, first, of)
    last = np.append(first[1:], len(size)) - 1
    long = (distinct >= MIN_GROWTHS) & (size[last] >= MIN_GROWTH * size[first])
    return np.asarray(on_a_line[of] & (on_a_line & long).any())


def _beginnings(size: Int64Array) -> Int64Array:
    """Where a buffer begins to grow: at the start, and at a size far below the largest of the buffer before."""
    found, largest = [0], 0
    for i, value in enumerate(size.tolist()):
        if value < RESTART * largest:
            found.append(i)
            largest = 0
        largest = max(largest, value)
    return np.array(found, np.int64)


def _rises_along_a_line(size: Int64Array, first: Int64Array, of: Int64Array) -> npt.NDArray[np.bool_]:
    """Whether the sizes of each buffer rise with their number, with a squared correlation of at least MIN_FIT."""
    counts = np.bincount(of)
    number = np.arange(len(size)) - first[of] - ((counts - 1) / 2)[of]
    apart = size - (np.add.reduceat(size, first) / counts)[of]
    together, numbers, sizes = (
        np.add.reduceat(a * b, first) for a, b in ((number, apart), (number, number), (apart, apart))
    )
    return np.asarray((together > 0) & (together**2 >= MIN_FIT * numbers * sizes))


RULE = Rule(META, detect, EXPERIMENTS)
