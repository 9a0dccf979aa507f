"""Why a rank was late: what its ledger holds before its arrivals beyond what the others' ledgers hold there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.ranks import Instances
from stallscope.waits.ranks.base import Ranks
from stallscope.waits.ranks.stragglers import Lateness

MAX_CAUSES = 3
LEAST_CAUSE = 0.15
"""A wait of the late rank counts as a cause from this part of its lateness on."""

Cause = tuple[str, int]
"""A wait id (or `ok.compute`) of the late ranks and how much of their lateness it explains, ns."""


def causes_of(ranks: Ranks, instances: Instances, late: Lateness) -> list[Cause]:
    """The largest differences between the late ranks' ledgers and the mean of the punctual ones', before late arrivals.

    All ranks left the collective before together, so the stretches begin together and their difference in length is the
    lateness: the differences of the ledgers add up to it.
    """
    accounts = [_account(summary.before, instances.row[:, p]) for p, summary in enumerate(ranks.summaries)]
    total: dict[str, float] = {}
    for p in late.blamed.tolist():
        chosen = np.flatnonzero((late.excess_ns[:, p] > 0) & (np.nan_to_num(late.late_ns[:, p]) > 0))
        punctual = _punctual(instances.present[chosen], late, p)
        for wait in sorted({wait for account in accounts for wait in account}):
            own = _charged(accounts[p], wait, chosen)
            others = np.zeros(len(chosen))
            for q in np.flatnonzero(punctual.any(axis=0)):
                others += np.where(punctual[:, q], _charged(accounts[q], wait, chosen), 0)
            mean = others / np.maximum(punctual.sum(axis=1), 1)
            total[wait] = total.get(wait, 0.0) + float((own - mean).sum())
    lateness = sum(value for value in total.values() if value > 0)
    ranked = sorted(((wait, int(value)) for wait, value in total.items()), key=lambda cause: -cause[1])
    return [cause for cause in ranked[:MAX_CAUSES] if cause[1] > LEAST_CAUSE * lateness]


def _punctual(present: npt.NDArray[np.bool_], late: Lateness, p: int) -> npt.NDArray[np.bool_]:
    """Who to compare with: everybody else without the persistent stragglers, unless that leaves nobody."""
    others: npt.NDArray[np.bool_] = present.copy()
    others[:, p] = False
    chosen: npt.NDArray[np.bool_] = others.copy()
    chosen[:, late.persistent] = False
    return chosen if chosen.any() else others


def _account(before: Mapping[str, Int64Array], row: Int64Array) -> dict[str, Int64Array]:
    """The ledger before every matched collective (any number where the participant was absent: nobody asks)."""
    known = np.maximum(row, 0)
    return {wait: values[known] for wait, values in before.items()}


def _charged(account: Mapping[str, Int64Array], wait: str, rows: npt.NDArray[np.intp]) -> Int64Array:
    found = account.get(wait)
    return np.zeros(len(rows), np.int64) if found is None else found[rows]
