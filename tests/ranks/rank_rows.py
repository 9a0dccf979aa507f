"""Ranks from the rows of their collectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from stallscope.timeline.collectives import NOT_RECORDED, CollectiveKind, CollectiveLog, CollectiveOps, Communicator
from stallscope.timeline.intervals import IntervalSet
from stallscope.waits.ranks.base import Ranks, RankSummary

GROUPS = tuple(Communicator(name) for name in ("tp", "dp", "pp", "ep"))


def rank(
    number: int,
    rows: list[tuple[int, int, int]],
    *,
    size: int = -1,
    window: int = 10_000_000,
    kind: CollectiveKind = CollectiveKind.ALL_REDUCE,
    group: int = 2,
    sequences: list[int] | None = None,
) -> RankSummary:
    """Rows are (start, end, communicator) in ns; all of it is exposed."""
    rows = sorted(rows)
    starts, ends, groups = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    count = len(rows)
    ops = CollectiveOps.of(
        start_ns=starts,
        end_ns=ends,
        device=[0] * count,
        kind=[kind] * count,
        communicator=groups,
        sequence=sequences or [int((groups[:i] == groups[i]).sum()) for i in range(count)],
        bytes=[size] * count,
        group_size=[group] * count,
        source=[-1] * count,
        target=[-1] * count,
    )
    everything = IntervalSet(np.array([0], np.int64), np.array([window], np.int64))
    return RankSummary(
        number, f"rank {number}", "GPU 0", "kernel", 0, window, CollectiveLog(ops, GROUPS), everything, {}
    )


def taking_part(
    durations: Sequence[Sequence[int | None]],
    *,
    ends: Sequence[Sequence[int]] | None = None,
    window: int = 20_000_000,
    before: Mapping[int, Mapping[str, Sequence[int]]] | None = None,
) -> Ranks:
    """One row a collective, one column a rank: how long it took there, None = absent. They end a millisecond apart.

    `ends` moves single ends; `before` is the ledger of a rank before each of its collectives.
    """
    found = []
    for p in range(len(durations[0])):
        rows, sequences = [], []
        for i, row in enumerate(durations):
            length = row[p]
            if length is not None:
                end = 1_000_000 * (i + 1) + (ends[i][p] if ends else 0)
                rows.append((end - length, end, 0))
                sequences.append(i)
        summary = rank(p, rows, window=window, group=len(durations[0]), sequences=sequences)
        account = {wait: np.array(values, np.int64) for wait, values in (before or {}).get(p, {}).items()}
        found.append(replace(summary, before=account))
    return Ranks(tuple(found))


def unnumbered(ranks: Ranks, *communicators: int) -> Ranks:
    """The same where the traces hold no sequence numbers of these communicators (all of them where none is named)."""
    found = []
    for summary in ranks.summaries:
        ops = summary.log.ops
        columns = {name: ops.array(name) for name in ops.COLUMNS}
        hidden = np.isin(columns["communicator"], communicators or range(len(GROUPS)))
        columns["sequence"] = np.where(hidden, NOT_RECORDED, columns["sequence"])
        found.append(replace(summary, log=CollectiveLog(CollectiveOps.of(**columns), summary.log.communicators)))
    return Ranks(tuple(found))
