"""Quantiles of Student's t distribution.

The tail comes from the continued fraction of the regularised incomplete beta function (Abramowitz and Stegun 26.5.8,
26.7.1), inverted by bisection.
"""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_ROUNDS = 400


@lru_cache(maxsize=256)
def t_quantile(confidence: float, freedom: float) -> float:
    """Half-width, in standard errors, of the two-sided interval of that confidence.

    Raises `ValueError` for a confidence outside (0, 1) or without degrees of freedom.
    """
    if not 0 < confidence < 1 or freedom <= 0:
        raise ValueError(f"no t quantile for confidence {confidence} and {freedom} degrees of freedom")
    tail = 1 - confidence
    low, high = 0.0, 1.0
    while _two_sided_tail(high, freedom) > tail:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _two_sided_tail(middle, freedom) > tail else (low, middle)
    return high


def _two_sided_tail(t: float, freedom: float) -> float:
    """P(|T| > t)."""
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _continued_fraction(a, b, x) / a


def _continued_fraction(a: float, b: float, x: float) -> float:
    """Lentz's method for the fraction 1/(1 + d1/(1 + d2/(1 + …)))."""
    value = c = 1.0
    d = 1 / _guard(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _ROUNDS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _guard(1 + term * d)
            c = _guard(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return value


def _guard(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
