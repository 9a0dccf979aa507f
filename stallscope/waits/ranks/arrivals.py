"""How long every rank waited in every collective, and how much of that nothing else covered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.timeline.collectives import SYNCHRONIZING
from stallscope.timeline.intervals import Int64Array, IntervalSet, intersect, union
from stallscope.timeline.ranks import Instances
from stallscope.waits.ranks.base import Ranks
from stallscope.waits.ranks.stragglers import MIN_COLLECTIVES, Lateness

SETUP_FACTOR = 5
"""A communicator's first collective that takes this many times its median also built the connections."""


def comparable(instances: Instances) -> Instances:
    """Synchronizing collectives without those that set a communicator up."""
    chosen = np.isin(instances.kind, SYNCHRONIZING)
    longest = np.where(instances.present, instances.duration_ns, 0).max(axis=1, initial=0)
    for communicator in range(len(instances.communicators)):
        rows = np.flatnonzero(chosen & (instances.communicator == communicator))
        if len(rows) >= MIN_COLLECTIVES and longest[rows[0]] > SETUP_FACTOR * np.median(longest[rows]):
            chosen[rows[0]] = False
    return instances.take(np.flatnonzero(chosen))


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Waiting part of every collective on every participant, and how much of it nothing else covered."""

    instances: Instances
    duration_ns: npt.NDArray[np.float64]
    wait_ns: Int64Array
    exposed_ns: Int64Array
    ranks: Ranks

    @classmethod
    def of(cls, ranks: Ranks, instances: Instances) -> Arrivals:
        """Waiting = own time minus the least time any rank spent in the collective."""
        present = instances.present
        taken = instances.duration_ns
        floor = np.where(present, taken, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
        wait = np.where(present, taken - floor, 0)
        exposed = np.zeros_like(wait)
        for p, summary in enumerate(ranks.summaries):
            start = instances.start_ns[:, p] - summary.origin_ns
            exposed[:, p] = np.where(present[:, p], summary.exposed.covered(start, start + wait[:, p]), 0)
        return cls(instances, np.where(present, taken.astype(np.float64), np.nan), wait, exposed, ranks)

    def exposed_waiting(self) -> dict[int, IntervalSet]:
        """When every participant waited with nothing else to cover it, on its own trace clock."""
        found = {}
        for p, summary in enumerate(self.ranks.summaries):
            start = self.instances.start_ns[:, p] - summary.origin_ns
            found[p] = intersect(union(start, start + self.wait_ns[:, p]), summary.exposed)
        return found

    def saved_ns(self, late: Lateness) -> tuple[int, int]:
        """Waiting (all, exposed) that goes away when nobody is late beyond noise."""
        arrival = np.where(np.isnan(self.duration_ns), -np.inf, -self.duration_ns)
        moved = np.where(np.isnan(self.duration_ns), -np.inf, arrival - late.excess_ns)
        saved = np.maximum(arrival.max(axis=1) - moved.max(axis=1), 0)
        part = np.minimum(self.wait_ns, saved[:, None])
        share = np.divide(self.exposed_ns, self.wait_ns, out=np.zeros(part.shape), where=self.wait_ns > 0)
        return int(part.sum()), int((part * share).sum())
