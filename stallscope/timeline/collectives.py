"""The collectives of one trace: which communication kernel was which operation of which communicator."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW, Column
from stallscope.model.events import Collectives, Span
from stallscope.model.names import Names
from stallscope.timeline.grouping import Groups, groups
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.rows import RowArray
from stallscope.timeline.timeline import Timeline

NOT_RECORDED = -1


class CollectiveKind(IntEnum):
    """Which collective; the ones that cannot end on a rank before every rank has arrived are SYNCHRONIZING."""

    UNKNOWN = 0
    ALL_REDUCE = 1
    ALL_GATHER = 2
    REDUCE_SCATTER = 3
    ALL_TO_ALL = 4
    BARRIER = 5
    BROADCAST = 6
    REDUCE = 7
    SEND_RECV = 8


SYNCHRONIZING = (
    CollectiveKind.ALL_REDUCE,
    CollectiveKind.ALL_GATHER,
    CollectiveKind.REDUCE_SCATTER,
    CollectiveKind.ALL_TO_ALL,
    CollectiveKind.BARRIER,
)

_KINDS: tuple[tuple[CollectiveKind, str], ...] = (
    (CollectiveKind.REDUCE_SCATTER, r"reduce_?scatter"),
    (CollectiveKind.ALL_REDUCE, r"all_?reduce|cross_device_reduce"),
    (CollectiveKind.ALL_GATHER, r"all_?gather"),
    (CollectiveKind.ALL_TO_ALL, r"all_?to_?all"),
    (CollectiveKind.BARRIER, r"barrier"),
    (CollectiveKind.BROADCAST, r"broadcast"),
    (CollectiveKind.SEND_RECV, r"send|recv|p2p"),
    (CollectiveKind.REDUCE, r"reduce"),
)
_ANNOTATION_DEPTH = 6


class CollectiveOps(Span):
    """Communication kernels of one trace by start. Texts are indices into `CollectiveLog.communicators`."""

    device = Column(np.int32, "index into Trace.devices")
    kind = Column(np.int8, "CollectiveKind")
    communicator = Column(np.int32, "index into CollectiveLog.communicators")
    sequence = Column(np.int64, "sequence number within the communicator; -1 = not recorded")
    bytes = Column(np.int64, "payload of this rank; -1 = not recorded")
    group_size = Column(np.int32, "ranks in the group; 0 = not recorded")
    source = Column(np.int32, "sending rank of a point-to-point operation; -1 = none")
    target = Column(np.int32, "receiving rank of a point-to-point operation; -1 = none")


@dataclass(frozen=True, slots=True)
class Communicator:
    """A group of ranks. `members` is empty when the trace does not tell; `by_order` when it has no name either."""

    name: str
    members: tuple[int, ...] = ()
    by_order: bool = False


@dataclass(frozen=True, slots=True)
class CollectiveLog:
    """What one rank did together with others: small enough to travel."""

    ops: CollectiveOps
    communicators: tuple[Communicator, ...]


def collective_log(timeline: Timeline) -> CollectiveLog:
    """All communication kernels with what was recorded about them.

    Operation: from the profiler's record, else from the `nccl:…` annotation around the launch, else from the kernel's
    name. Communicator: from the record, else one a stream, numbered by first use (ranks of one program use their
    streams in the same order).
    """
    operations = timeline.operations
    rows = np.flatnonzero(operations.kind == OperationKind.COMMUNICATION)
    rows = rows[np.argsort(operations.start_ns[rows], kind="stable")]
    records = timeline.trace.table(Collectives)
    record = _records(records, operations.row[rows])
    known = record != NO_ROW
    texts: list[Communicator] = []
    if records is None or not len(records):
        records, record = _NO_RECORDS, np.zeros(len(rows), np.int64)
    ops = CollectiveOps.of(
        start_ns=operations.start_ns[rows],
        end_ns=operations.end_ns[rows],
        device=operations.device[rows],
        kind=_kinds(timeline, rows, np.where(known, records.operation[record], 0)),
        communicator=_communicators(timeline, rows, np.where(known, record, NO_ROW), texts),
        sequence=np.where(known, records.sequence[record], NOT_RECORDED),
        bytes=np.where(known, records.bytes[record], NOT_RECORDED),
        group_size=np.where(known, records.group_size[record], 0),
        source=np.where(known, records.source[record], NOT_RECORDED),
        target=np.where(known, records.target[record], NOT_RECORDED),
    )
    return CollectiveLog(ops, tuple(texts))


_NO_RECORDS = Collectives.of(
    kernel=[NO_ROW],
    operation=[0],
    communicator=[0],
    members=[0],
    sequence=[NOT_RECORDED],
    bytes=[NOT_RECORDED],
    group_size=[0],
    source=[NOT_RECORDED],
    target=[NOT_RECORDED],
)


def _records(records: Collectives | None, kernels: RowArray) -> Int64Array:
    """Row in Collectives of each kernel, or NO_ROW."""
    if records is None or not len(records):
        return np.full(len(kernels), NO_ROW, np.int64)
    position = np.minimum(np.searchsorted(records.kernel, kernels), len(records) - 1)
    return np.where(records.kernel[position] == kernels, position, NO_ROW)


def kind_of(text: str) -> CollectiveKind:
    """`ncclDevKernel_AllReduce_Sum_bf16_RING_LL`, `_allgather_base`, `nccl:all_to_all` → the collective."""
    plain = text.lower()
    return next((kind for kind, pattern in _KINDS if re.search(pattern, plain)), CollectiveKind.UNKNOWN)


def _kinds(timeline: Timeline, rows: npt.NDArray[np.intp], recorded: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    """A SendRecv kernel may be an all-to-all: only a record or an annotation can tell."""
    names = timeline.trace.names
    by_record, by_name = _by_text(names, recorded), _by_text(names, timeline.operations.name[rows])
    unsure = np.flatnonzero((by_record == CollectiveKind.UNKNOWN) & np.isin(by_name, _VAGUE))
    annotated = _annotated(timeline, rows[unsure])
    by_name[unsure] = np.where(annotated == CollectiveKind.UNKNOWN, by_name[unsure], annotated)
    return np.where(by_record == CollectiveKind.UNKNOWN, by_name, by_record).astype(np.int8)


_VAGUE = (CollectiveKind.UNKNOWN, CollectiveKind.SEND_RECV)


def _by_text(names: Names, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    distinct, place = np.unique(ids, return_inverse=True)
    return np.array([kind_of(names[n]) for n in distinct], np.int8)[place]


def _annotated(timeline: Timeline, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int8]:
    """Collective named by an `nccl:…` range open on the launching thread."""
    found = np.zeros(len(rows), np.int8)
    call = timeline.launch[rows]
    if not len(rows) or not len(timeline.calls):
        return found
    ranges, names = timeline.ranges, timeline.trace.names
    moment = timeline.calls.start_ns[np.maximum(call, 0)]
    inner = ranges.innermost(timeline.launch_thread(rows), moment)
    for position, start in enumerate(inner.tolist()):
        row = start
        for _ in range(_ANNOTATION_DEPTH):
            if row == NO_ROW or found[position]:
                break
            text = names[ranges.ranges.name[row]]
            found[position] = kind_of(text) if text.startswith("nccl:") else 0
            row = int(ranges.parent[row])
    return found


def _communicators(
    timeline: Timeline, rows: npt.NDArray[np.intp], record: Int64Array, texts: list[Communicator]
) -> npt.NDArray[np.int32]:
    """Index of every kernel's communicator; fills `texts`."""
    records, names, operations = timeline.trace.table(Collectives), timeline.trace.names, timeline.operations
    index: dict[Communicator, int] = {}
    streams: dict[tuple[int, int, int], int] = {}
    same = _alike(timeline, rows, record)
    number = np.empty(len(same.first), np.int32)
    for group, (row, at) in enumerate(zip(rows[same.first].tolist(), record[same.first].tolist(), strict=True)):
        if at != NO_ROW and records is not None and records.communicator[at]:
            text = names[records.members[at]]
            members = tuple(int(r) for r in text.split(",")) if text else ()
            communicator = Communicator(names[records.communicator[at]], members)
        else:
            stream = (int(operations.device[row]), int(operations.context[row]), int(operations.stream[row]))
            same_device = sum(key[0] == stream[0] for key in streams)
            communicator = Communicator(f"stream {streams.setdefault(stream, same_device)}", by_order=True)
        number[group] = index.setdefault(communicator, len(index))
    texts.extend(index)
    return number[same.of]


def _alike(timeline: Timeline, rows: npt.NDArray[np.intp], record: Int64Array) -> Groups:
    """Kernels of the same recorded communicator, and those without one on the same stream."""
    operations, records = timeline.operations, timeline.trace.table(Collectives)
    keys = [operations.array(name)[rows].astype(np.int64) for name in ("device", "context", "stream")]
    if records is None or not len(records):
        return groups(*keys)
    at = np.maximum(record, 0)
    named = (record != NO_ROW) & (records.communicator[at] != 0)
    none = np.zeros(len(at), np.int64)
    recorded = [values.astype(np.int64) for values in (records.communicator[at], records.members[at], none)]
    return groups(named, *(np.where(named, told, key) for told, key in zip(recorded, keys, strict=True)))
