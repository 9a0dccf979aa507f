"""Several ranks of one run: the same collective on all of them, and one clock for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.collectives import NOT_RECORDED, CollectiveLog, CollectiveOps, Communicator
from stallscope.timeline.grouping import groups
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.order import order_shift

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Participant:
    """One device of one rank, and its collectives. `origin_ns` puts its clock on the producer's (Trace.origin_ns)."""

    rank: int
    log: CollectiveLog
    origin_ns: int = 0


@dataclass(frozen=True, slots=True)
class Instances:
    """Collectives that two or more participants took part in: one row a collective, one column a participant.

    `row[i, p]` is the row in that participant's CollectiveOps (NO_ROW = absent), `start_ns` and `end_ns` its times on
    its own clock plus origin (0 where absent). `expected` is the recorded group size (0 = unknown). `by_sequence` says
    that the match rests on recorded sequence numbers and not on order.
    """

    row: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    kind: npt.NDArray[np.int8]
    bytes: Int64Array
    expected: Int64Array
    by_sequence: BoolArray
    communicator: Int64Array
    communicators: tuple[Communicator, ...]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def present(self) -> BoolArray:
        """Which participant took part in which collective."""
        return np.asarray(self.row != NO_ROW)

    @property
    def duration_ns(self) -> Int64Array:
        """Time every participant spent in every collective; 0 where absent."""
        return self.end_ns - self.start_ns

    def take(self, rows: npt.NDArray[np.intp] | BoolArray) -> Instances:
        """Some of the collectives."""
        return Instances(
            self.row[rows],
            self.start_ns[rows],
            self.end_ns[rows],
            self.kind[rows],
            self.bytes[rows],
            self.expected[rows],
            self.by_sequence[rows],
            self.communicator[rows],
            self.communicators,
        )


def match_collectives(participants: Sequence[Participant]) -> Instances:
    """Find the same collective on every participant.

    The key is the communicator (its name and members) with the kind, the peers and the recorded sequence number; where
    no number is recorded, the position in the communicator's order, shifted so that captures that began at different
    iterations meet (`order_shift`). Collectives seen by one participant only are left out.
    """
    blocks = [_matched(participants, name, group) for name, group in _groups(participants)]
    blocks = [block for block in blocks if len(block.row)]
    if not blocks:
        return _stacked([_Block.empty(len(participants))], participants, ())
    return _stacked(blocks, participants, tuple(block.communicator for block in blocks))


@dataclass(frozen=True, slots=True)
class _Block:
    """Matched rows of one communicator."""

    communicator: Communicator
    row: Int64Array
    by_sequence: bool

    @classmethod
    def empty(cls, width: int) -> _Block:
        return cls(Communicator(""), np.empty((0, width), np.int64), by_sequence=False)


_Group = dict[int, Int64Array]
"""Participant → rows of its ops that belong to one communicator."""


def _groups(participants: Sequence[Participant]) -> Iterator[tuple[Communicator, _Group]]:
    found: dict[Communicator, _Group] = {}
    for position, participant in enumerate(participants):
        ops = participant.log.ops
        for index, communicator in enumerate(participant.log.communicators):
            rows = np.flatnonzero(ops.communicator == index)
            if len(rows):
                found.setdefault(communicator, {})[position] = rows
    for communicator, group in found.items():
        if len(group) > 1:
            yield communicator, group


def _matched(participants: Sequence[Participant], communicator: Communicator, group: _Group) -> _Block:
    ops = {p: participants[p].log.ops for p in group}
    numbered = all((ops[p].sequence[rows] != NOT_RECORDED).all() for p, rows in group.items())
    keys = {p: _numbered(ops[p], rows) for p, rows in group.items()} if numbered else _ordered(participants, group)
    wide = np.concatenate([keys[p] for p in group])
    owner = np.repeat(np.array(list(group)), [len(rows) for rows in group.values()])
    rows = np.concatenate(list(group.values()))
    same = groups(*wide.T)
    table = np.full((len(same.first), len(participants)), NO_ROW, np.int64)
    table[same.of, owner] = rows
    table = table[np.lexsort(wide[same.first].T[::-1])]
    shared = (table != NO_ROW).sum(axis=1) > 1
    return _Block(communicator, table[shared], by_sequence=numbered)


def _numbered(ops: CollectiveOps, rows: Int64Array) -> Int64Array:
    """(kind, sender, receiver, sequence, occurrence): kernels of one coalesced collective share a number."""
    key = np.stack((ops.kind[rows], ops.source[rows], ops.target[rows], ops.sequence[rows]), axis=1).astype(np.int64)
    return np.concatenate((key, _occurrence(key)[:, None]), axis=1)


def _ordered(participants: Sequence[Participant], group: _Group) -> dict[int, Int64Array]:
    """(peers, position) within the communicator, every participant shifted to the longest one."""
    reference = max(group, key=lambda p: (len(group[p]), -p))
    keys = {}
    for p, rows in group.items():
        ops = participants[p].log.ops
        peers = np.stack((ops.source[rows], ops.target[rows]), axis=1).astype(np.int64)
        shift = (
            0
            if p == reference
            else order_shift(_stream(participants[reference], group[reference]), _stream(participants[p], rows))
        )
        keys[p] = np.concatenate((peers, (_occurrence(peers) + shift)[:, None]), axis=1)
    return keys


def _stream(participant: Participant, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
    """What the order of a communicator looks like: a token a collective (kind and size), and when it ended."""
    ops = participant.log.ops
    token = ops.kind[rows].astype(np.int64) + 16 * np.maximum(ops.bytes[rows], 0)
    return token, ops.end_ns[rows] + participant.origin_ns


def _occurrence(keys: Int64Array) -> Int64Array:
    """How many equal rows came before each row."""
    group = groups(*keys.T).of
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.concatenate((np.ones(min(1, len(ordered)), np.bool_), ordered[1:] != ordered[:-1]))
    begin = np.maximum.accumulate(np.where(first, np.arange(len(ordered)), 0))
    found = np.empty(len(keys), np.int64)
    found[order] = np.arange(len(ordered)) - begin
    return found


def _stacked(
    blocks: Sequence[_Block], participants: Sequence[Participant], communicators: tuple[Communicator, ...]
) -> Instances:
    row = np.concatenate([block.row for block in blocks])
    number = np.repeat(np.arange(len(blocks)), [len(block.row) for block in blocks])
    facts = {name: _gathered(participants, row, name) for name in ("start_ns", "end_ns", "kind", "bytes", "group_size")}
    origin = np.array([p.origin_ns for p in participants], np.int64)
    present = row != NO_ROW
    begin = np.where(present, facts["start_ns"] + origin, 0)
    order = np.argsort(
        np.where(present, begin, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max), kind="stable"
    )
    members = np.array([len(c.members) for c in communicators] or [0], np.int64)
    found = Instances(
        row=row,
        start_ns=begin,
        end_ns=np.where(present, facts["end_ns"] + origin, 0),
        kind=np.where(present, facts["kind"], 0).max(axis=1, initial=0).astype(np.int8),
        bytes=np.where(present, facts["bytes"], NOT_RECORDED).max(axis=1, initial=NOT_RECORDED),
        expected=np.maximum(np.where(present, facts["group_size"], 0).max(axis=1, initial=0), members[number]),
        by_sequence=np.array([block.by_sequence for block in blocks], np.bool_)[number],
        communicator=number,
        communicators=communicators,
    )
    return found.take(order)


def _gathered(participants: Sequence[Participant], row: Int64Array, name: str) -> Int64Array:
    found = np.zeros(row.shape, np.int64)
    for position, participant in enumerate(participants):
        mine = np.flatnonzero(row[:, position] != NO_ROW)
        found[mine, position] = participant.log.ops.array(name)[row[mine, position]]
    return found
