"""Where two ranks' orders of the same communicator meet when no sequence number says so."""

from __future__ import annotations

import numpy as np

from stallscope.timeline.intervals import Int64Array

Order = tuple[Int64Array, Int64Array]
"""A token for each collective in order, and when it ended (ns, own clock)."""

REACH = 8
"""Captures that began together may still differ by a few collectives at the edge."""
LONGEST = 4096
MIN_PAIRS = 3
MOST_MISMATCHES = 0.05
CLEARLY_BETTER = 0.5
"""Another shift must more than halve the spread of the end differences, or position 0 stands."""
RESOLUTION_NS = 1_000.0


def order_shift(reference: Order, other: Order) -> int:
    """Position of `other`'s first collective in `reference`.

    Ranks leave a synchronizing collective together, so at the right shift the differences of the ends are constant (two
    clocks) but for microseconds; at a wrong one they vary with the step time. Tokens must agree as well.
    """
    difference = len(reference[0]) - len(other[0])
    reach = min(abs(difference) + REACH, LONGEST)
    best, spread = 0, _spread(reference, other, 0)
    for shift in sorted(range(-reach, reach + 1), key=abs):
        found = _spread(reference, other, shift)
        if found < max(spread, RESOLUTION_NS) * CLEARLY_BETTER and spread > RESOLUTION_NS:
            best, spread = shift, found
    return best


def _spread(reference: Order, other: Order, shift: int) -> float:
    """Median deviation of the end differences at a shift; infinite where the orders contradict each other."""
    first = max(shift, 0)
    after = min(len(reference[0]), len(other[0]) + shift)
    if after - first < MIN_PAIRS:
        return np.inf
    mine = slice(first - shift, after - shift)
    if (reference[0][first:after] != other[0][mine]).mean() > MOST_MISMATCHES:
        return np.inf
    gap = other[1][mine] - reference[1][first:after]
    gap = gap - gap[len(gap) // 2]
    return float(np.median(np.abs(gap - np.median(gap))))
