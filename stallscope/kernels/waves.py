"""Waves of blocks, the loss of an unfilled last one, and the balance of work over the SMs."""

from __future__ import annotations

import math

from stallscope.kernels import metrics as m
from stallscope.kernels.readings import Readings

WAVES = (m.GRID_SIZE, m.SM_COUNT, m.LIMIT_REGISTERS, m.LIMIT_SHARED, m.LIMIT_BLOCKS, m.LIMIT_WARPS)
BALANCE = (m.SM_ACTIVE_AVG, m.SM_ACTIVE_MAX, m.SM_ELAPSED)


def blocks_an_sm(k: Readings) -> float:
    """How many blocks fit an SM at once."""
    return max(1.0, min(k[m.LIMIT_REGISTERS], k[m.LIMIT_SHARED], k[m.LIMIT_BLOCKS], k[m.LIMIT_WARPS]))


def waves_of(k: Readings) -> float:
    """Rounds of blocks; needs WAVES. ncu prints the same with two decimals only."""
    return k[m.GRID_SIZE] / (max(1.0, k[m.SM_COUNT]) * blocks_an_sm(k))


def tail_loss(waves: float) -> float:
    """Part of the time that an unfilled last wave of equally long blocks loses; 0 below one wave."""
    return 0.0 if waves <= 1 else 1 - waves / math.ceil(waves)


def unbalanced(k: Readings) -> float | None:
    """How far the average SM's active cycles lie below the longest; None when not collected.

    Without the longest one, below the elapsed cycles, which can only be more.
    """
    average, longest = k.get(m.SM_ACTIVE_AVG), k.get(m.SM_ACTIVE_MAX) or k.get(m.SM_ELAPSED)
    return None if average is None or not longest else max(0.0, 1 - average / longest)
