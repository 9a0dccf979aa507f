"""Which rank arrives last more often, or later, than chance allows."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Float64Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FALSE_ALARM = 0.002
"""Chance that ranks that differ by nothing but noise give a persistent straggler, over all ranks of a run."""
LEAST_LATENESS = 1.0
"""A persistent straggler is late by at least this many standard deviations of one arrival."""
PAUSE = 8.0
"""A single arrival later than this many standard deviations may be an event of its own,"""
PAUSE_OVER_LAST = 7.0
"""if it is also later than this many times what the last to arrive usually is: noise often has a long tail."""
_WINSOR = 5.0
_TO_SIGMA = 1.4826
MIN_COLLECTIVES = 5


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late every arrival was against the mean of the others, and whom to blame.

    `late_ns[i, p]` > 0: participant p arrived after the others in collective i (NaN where absent). `noise_ns` is the
    standard deviation of one arrival. `excess_ns[i, p]` is the part of an arrival that a persistent straggler's mean
    lateness or a pause explains; removing it is the counterfactual.
    """

    late_ns: Float64Array
    noise_ns: float
    persistent: npt.NDArray[np.intp]
    pauses: BoolArray
    excess_ns: Float64Array

    @property
    def blamed(self) -> npt.NDArray[np.intp]:
        """Participants to blame, the most harmful first."""
        harm = self.excess_ns.sum(axis=0)
        found = np.flatnonzero(harm > 0)
        return found[np.argsort(-harm[found], kind="stable")]


def lateness(duration_ns: Float64Array, worth_ns: float = 0.0) -> Lateness:
    """From the time each participant spent in each synchronizing collective (NaN = absent).

    A participant's pauses count when together they reach `worth_ns`: rare long arrivals are part of any noise.

    All leave together, so whoever spent less arrived later: durations need no common clock. The test statistic of a
    participant is its mean lateness (winsorized at 5 sigma, sample size corrected for lag-1 autocorrelation) against
    the noise of one arrival; a consistent shift below one sigma is never called a straggler.
    """
    late = _against_others(duration_ns)
    typical = np.array([_median(column) for column in late.T])
    noise = _noise(late - typical, duration_ns)
    means, certain = _persistent(late, noise)
    persistent = np.flatnonzero(certain)
    expected = np.where(certain, means, 0.0)
    last = _last(duration_ns)
    rest = np.nan_to_num(late - expected)
    usual = _median(rest.max(axis=1))
    pauses = last & (rest > max(PAUSE * noise, PAUSE_OVER_LAST * usual)) & (len(late) >= MIN_COLLECTIVES)
    pauses &= np.where(pauses, rest, 0.0).sum(axis=0) >= worth_ns
    excess = np.where(pauses, rest, 0.0) + np.where(np.isnan(late), 0.0, expected)
    return Lateness(late, noise, persistent, pauses, np.maximum(excess, 0.0))


def _against_others(duration_ns: Float64Array) -> Float64Array:
    """Mean of the others minus own duration."""
    present = ~np.isnan(duration_ns)
    count = present.sum(axis=1, keepdims=True)
    total = np.nansum(duration_ns, axis=1, keepdims=True)
    others = (total - np.nan_to_num(duration_ns)) / np.maximum(count - 1, 1)
    return np.where(present & (count > 1), others - duration_ns, np.nan)


def _noise(residual: Float64Array, duration_ns: Float64Array) -> float:
    """Robust standard deviation of one arrival; a lateness also carries the noise of the others' mean."""
    if not len(residual):
        return 0.0
    spread = _TO_SIGMA * _median(np.abs(residual).ravel())
    members = float(np.median((~np.isnan(duration_ns)).sum(axis=1)))
    return spread / float(np.sqrt(1 + 1 / max(members - 1, 1)))


def _median(values: Float64Array) -> float:
    """Median of what is there; 0 of nothing."""
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else 0.0


def _persistent(late: Float64Array, noise: float) -> tuple[Float64Array, BoolArray]:
    """Mean lateness of every participant, and whether chance is excluded."""
    width = late.shape[1]
    means, certain = np.zeros(width), np.zeros(width, np.bool_)
    level = NormalDist().inv_cdf(1 - FALSE_ALARM / max(width, 2))
    for p in range(width):
        own = late[~np.isnan(late[:, p]), p]
        if len(own) < MIN_COLLECTIVES:
            continue
        middle = float(np.median(own))
        own = np.clip(own, middle - _WINSOR * noise, middle + _WINSOR * noise)
        means[p] = own.mean()
        error = own.std(ddof=1) / np.sqrt(_effective(own))
        certain[p] = means[p] > max(LEAST_LATENESS * noise, level * error)
    return means, certain


def _effective(values: Float64Array) -> float:
    """Sample size that independent values of the same certainty would have."""
    centred = values - values.mean()
    power = float((centred**2).sum())
    if power == 0:
        return float(len(values))
    lag = float((centred[1:] * centred[:-1]).sum()) / power
    return max(len(values) * (1 - max(lag, 0.0)) / (1 + max(lag, 0.0)), 2.0)


def _last(duration_ns: Float64Array) -> BoolArray:
    """Who arrived last: spent the least time."""
    filled = np.where(np.isnan(duration_ns), np.inf, duration_ns)
    least = filled.min(axis=1, keepdims=True, initial=np.inf)
    return np.asarray((filled == least) & np.isfinite(filled))
