"""comm.order: ranks issue the collectives of two communicators in different orders.

Each rank then waits in one communicator for a rank that waits in the other: serialised at best, a deadlock at worst.
"""

from __future__ import annotations

import hashlib
from itertools import combinations

import numpy as np
import numpy.typing as npt

from stallscope.model.experiments import Experiment
from stallscope.model.findings import Check, Evidence, Finding, Recoverable
from stallscope.timeline.ranks import Instances
from stallscope.waits.base import DEFAULT_LOW_RATIO
from stallscope.waits.findings import MIN_SHARE
from stallscope.waits.ranks.arrivals import Arrivals, comparable
from stallscope.waits.ranks.base import RankOutcome, Ranks

WAIT = "comm.order"
NEIGHBOURS = 4
"""A collective is compared with this many before it in time: an order matters between neighbours."""


def detect(ranks: Ranks, *, everything: bool = False) -> RankOutcome:
    """Look for pairs of collectives of different communicators whose order of start differs between ranks."""
    instances = _by_time(ranks, comparable(ranks.instances))
    if len(np.unique(instances.communicator)) < 2:
        reason = "fewer than two communicators are shared by two ranks"
        return RankOutcome((Check(wait=WAIT, outcome="not_applicable", reason=reason),))
    waits = Arrivals.of(ranks, instances)
    crossed = _crossed(instances)
    total = int(waits.exposed_ns[crossed].sum())
    share = total / ranks.window_ns
    if not total or not (everything or share >= MIN_SHARE):
        return RankOutcome(
            (Check(wait=WAIT, outcome="clean", reason="all ranks issue their collectives in one order"),)
        )
    return RankOutcome((Check(wait=WAIT, outcome="found"),), (_finding(ranks, instances, crossed, total),))


def _by_time(ranks: Ranks, instances: Instances) -> Instances:
    """In the order of the common clock."""
    started = np.where(instances.present, ranks.clocks.common(instances.start_ns), np.inf)
    return instances.take(np.argsort(started.min(axis=1, initial=np.inf), kind="stable"))


def _crossed(instances: Instances) -> npt.NDArray[np.bool_]:
    """Collectives of different communicators that two ranks run in opposite orders, one after the other."""
    flags = np.zeros(len(instances), np.bool_)
    start, end, present, group = instances.start_ns, instances.end_ns, instances.present, instances.communicator
    for distance in range(1, NEIGHBOURS + 1):
        earlier, later = slice(None, -distance), slice(distance, None)
        both = present[earlier] & present[later] & (group[earlier] != group[later])[:, None]
        forward = (both & (end[earlier] <= start[later])).any(axis=1)
        backward = (both & (end[later] <= start[earlier])).any(axis=1)
        crossed = np.flatnonzero(forward & backward)
        flags[crossed] = flags[crossed + distance] = True
    return flags


def _finding(ranks: Ranks, instances: Instances, crossed: npt.NDArray[np.bool_], total: int) -> Finding:
    table = ranks.summaries[0].table
    names = sorted({instances.communicators[c].name for c in np.unique(instances.communicator[crossed])})
    digest = hashlib.sha256(f"{ranks.window_ns}{len(instances)}{WAIT}".encode()).hexdigest()
    pairs = ", ".join(f"{a} and {b}" for a, b in list(combinations(names, 2))[:3])
    return Finding(
        id=f"F-{digest[:6]}",
        wait=WAIT,
        title=f"Ranks issue the collectives of communicators {pairs} in different orders",
        severity="warning",
        evidence_level="indicated",
        devices=ranks.devices,
        count=int(crossed.sum()),
        wait_ns=total,
        share=round(total / ranks.window_ns, 6),
        recoverable_ns=Recoverable(
            low=int(total * DEFAULT_LOW_RATIO), high=total, assumes="one order on all ranks removes the waiting in them"
        ),
        evidence=(
            Evidence(label="collectives in crossed pairs", value=int(crossed.sum()), unit="count", source=table),
            Evidence(label="exposed waiting in them", value=total, unit="ns", source=table),
        ),
        experiments=_EXPERIMENTS,
        caveats=("the same time is part of comm.peer_wait: the two findings are not additive",),
        docs=f"waits/{WAIT}",
        ledger=False,
    )


_EXPERIMENTS = (
    Experiment(
        title="Let NCCL order the launches",
        change="Make every rank launch its communicators in host order",
        apply=("NCCL_LAUNCH_ORDER_IMPLICIT=1",),
        measure="stallscope analyze after/*  # compare the comm.order and comm.peer_wait lines",
        refuted_if="the crossed pairs stay: then the program itself issues them in different orders",
        numerics="bit-identical",
        effort="flag",
    ),
)
