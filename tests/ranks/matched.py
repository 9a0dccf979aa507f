"""Matched collectives and ranks from a few numbers, for the parts of the comparison of ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stallscope.timeline.collectives import CollectiveKind, CollectiveLog, CollectiveOps, Communicator
from stallscope.timeline.intervals import IntervalSet
from stallscope.timeline.ranks import Instances
from stallscope.waits.ranks.base import Ranks, RankSummary
from stallscope.waits.ranks.stragglers import Lateness

Span = tuple[int, int]
STEP_NS = 1_000_000
"""Collective i ends everywhere at (i + 1) · STEP_NS."""


def taking(durations: Sequence[Sequence[int | None]], **of: Sequence[int]) -> Instances:
    """One row a collective, one column a rank: how long the rank spent in it; None = absent. All end together."""
    ends = STEP_NS * (1 + np.arange(len(durations)))
    spans = [[None if d is None else (int(e) - d, int(e)) for d in row] for e, row in zip(ends, durations, strict=True)]
    return running(spans, **of)


def running(spans: Sequence[Sequence[Span | None]], **of: Sequence[int]) -> Instances:
    """One row a collective, one column a rank: when it ran there; `kind` and `communicator` by collective."""
    count = len(spans)
    group = np.array(of.get("communicator", [0] * count), np.int64)
    times = np.array([[(0, 0) if span is None else span for span in row] for row in spans], np.int64)
    absent = np.array([[span is None for span in row] for row in spans])
    return Instances(
        row=np.where(absent, -1, np.arange(count)[:, None]),
        start_ns=times[:, :, 0],
        end_ns=times[:, :, 1],
        kind=np.array(of.get("kind", [CollectiveKind.ALL_REDUCE] * count), np.int8),
        bytes=np.full(count, -1),
        expected=np.zeros(count, np.int64),
        by_sequence=np.ones(count, np.bool_),
        communicator=group,
        communicators=tuple(Communicator(f"group {i}") for i in range(group.max(initial=0) + 1)),
    )


def rank_with(
    number: int,
    *,
    exposed: Sequence[Span] = ((0, 1 << 60),),
    before: Mapping[str, Sequence[int]] | None = None,
    origin_ns: int = 0,
) -> RankSummary:
    """A rank by its account alone: when its communication was exposed, and its ledger before every collective."""
    starts, ends = (np.array([span[i] for span in exposed], np.int64) for i in (0, 1))
    account = {wait: np.array(values, np.int64) for wait, values in (before or {}).items()}
    log = CollectiveLog(CollectiveOps.empty(), ())
    return RankSummary(
        number, f"rank {number}", "GPU 0", "kernel", origin_ns, STEP_NS, log, IntervalSet(starts, ends), account
    )


def ranks_with(*befores: Mapping[str, Sequence[int]]) -> Ranks:
    """Ranks by their ledgers before every collective."""
    return Ranks(tuple(rank_with(number, before=before) for number, before in enumerate(befores)))


def blaming(
    excess: Sequence[Sequence[float]],
    *,
    late: Sequence[Sequence[float]] | None = None,
    persistent: Sequence[int] = (),
) -> Lateness:
    """What each arrival was late by beyond noise; `late` where it differs from that."""
    explained = np.array(excess, np.float64)
    own = explained if late is None else np.array(late, np.float64)
    pauses = np.zeros(explained.shape, np.bool_)
    return Lateness(own, 0.0, np.array(persistent, np.intp), pauses, explained)
