"""Interval of the difference of two means, from repeats that are few, skewed or correlated in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from stallscope.experiments.student import t_quantile

FloatArray: TypeAlias = npt.NDArray[np.float64]

RESAMPLES = 4000
_SEED = 20_260
_PAIRING_CORRELATION = 0.5
_MIN_PAIRS = 5
_MAX_CORRELATION = 0.95
_FEW = 5
_LEAST_SPREAD = 0.005


@dataclass(frozen=True, slots=True)
class Difference:
    """head - base of one quantity: estimate and interval; without repeats on both sides there is no interval."""

    point: float
    low: float
    high: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class Sampling:
    """How samples may be resampled: `block` consecutive ones together, `paired` row by row."""

    block: int = 1
    paired: bool = False


def worth_pairing(base: FloatArray, head: FloatArray) -> bool:
    """Do the k-th repeats of both sides belong together? Only if they are equally many and clearly vary together."""
    if len(base) != len(head) or len(base) < _MIN_PAIRS:
        return False
    if np.array_equal(base, head):
        return True
    if not np.ptp(base) or not np.ptp(head):
        return False
    return bool(np.corrcoef(base, head)[0, 1] > _PAIRING_CORRELATION)


def block_length(count: int) -> int:
    """Length of the blocks for consecutive steps: the cube root of their number, the usual rate for a mean."""
    return max(1, round(float(np.cbrt(count))))


def mean_difference(base: FloatArray, head: FloatArray, confidence: float, sampling: Sampling) -> Difference | None:
    """Difference of means with a two-sided interval, or None when a side has fewer than two samples.

    The interval is the wider of two: the block-bootstrap percentiles, which know skewness, and Student's t, which knows
    that few samples say little about their own spread (bootstrap percentiles of three samples are far too narrow). The
    t interval uses a standard error for samples correlated in time. Below five samples a side the spreads
    of both sides are pooled and taken as at least 0.5 % of the mean: two values that happen to agree prove nothing.
    """
    if len(base) < 2 or len(head) < 2:
        return None
    generator = np.random.default_rng(_SEED)
    if sampling.paired:
        gaps = head - base
        point, (error, independent) = float(gaps.mean()), _standard_error(gaps)
        freedom = independent - 1
        means = _resampled_means(gaps, sampling.block, generator)
    else:
        point = float(head.mean() - base.mean())
        error, freedom = _unpaired(base, head)
        means = _resampled_means(head, sampling.block, generator) - _resampled_means(base, sampling.block, generator)
    half = t_quantile(confidence, freedom) * error
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, (tail, 1 - tail))
    return Difference(point, min(float(low), point - half), max(float(high), point + half), error)


def _standard_error(values: FloatArray) -> tuple[float, float]:
    """Standard error of a mean of samples correlated in time, and how many independent ones they are worth."""
    spread = float(values.std(ddof=1))
    if not spread:
        return 0.0, float(len(values))
    independent = max(len(values) / _inflation(values - values.mean()), 2.0)
    return spread / float(np.sqrt(independent)), independent


def _inflation(centred: FloatArray) -> float:
    """By how much correlation in time inflates the variance of the mean; at least 1.

    The larger of two estimates: first-order autoregression, (1 + r) / (1 - r), which sees strong short memory, and the
    Newey-West sum of autocorrelations up to the square root of the length, which sees weak long memory.
    """
    count = len(centred)
    if count < _FEW:
        return 1.0
    reach = min(round(float(np.sqrt(count))), count // 4)
    total = float((centred * centred).sum())
    lagged = [float((centred[k:] * centred[:-k]).sum()) / total for k in range(1, reach + 1)]
    first = min(max(lagged[0], 0.0), _MAX_CORRELATION)
    summed = 1 + 2 * sum((1 - k / (reach + 1)) * r for k, r in enumerate(lagged, start=1))
    return max(1.0, (1 + first) / (1 - first), summed)


def _unpaired(base: FloatArray, head: FloatArray) -> tuple[float, float]:
    """Standard error of the difference of means, and its degrees of freedom."""
    counts = len(base), len(head)
    if min(counts) >= _FEW:
        errors, independent = zip(*map(_standard_error, (base, head)), strict=True)
        return float(np.hypot(*errors)), _welch(errors, independent)
    freedom = sum(counts) - 2
    squares = float(((base - base.mean()) ** 2).sum() + ((head - head.mean()) ** 2).sum())
    least = _LEAST_SPREAD * max(abs(float(base.mean())), abs(float(head.mean())))
    spread = max(float(np.sqrt(squares / freedom)), least)
    return spread * float(np.sqrt(1 / counts[0] + 1 / counts[1])), float(freedom)


def _welch(errors: tuple[float, ...], counts: tuple[float, ...]) -> float:
    """Degrees of freedom of a difference of means with unequal variances (Welch-Satterthwaite)."""
    total = errors[0] ** 2 + errors[1] ** 2
    if not total:
        return sum(counts) - 2
    return total**2 / sum(e**4 / (n - 1) for e, n in zip(errors, counts, strict=True))


def _resampled_means(values: FloatArray, block: int, generator: np.random.Generator) -> FloatArray:
    """Means of RESAMPLES circular moving-block resamples."""
    count = len(values)
    block = min(block, count)
    wrapped = np.concatenate((values, values[: block - 1]))
    sums = np.concatenate(([0.0], np.cumsum(wrapped)))
    block_means = (sums[block:] - sums[:-block]) / block
    draws = generator.integers(0, count, size=(RESAMPLES, max(1, -(-count // block))))
    means: FloatArray = block_means[draws].mean(axis=1)
    return means
