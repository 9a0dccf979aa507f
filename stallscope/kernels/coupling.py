"""Which units a class of work loads beside the obvious one: removing the work frees all of them.

A bound that frees one unit only is broken by reality: on chips with a slow FP64 unit double-precision instructions
also occupy the MIO queues (RTX A4500: 20 % of peak, a naive bound of 79 % against a measured cut of 95 %), and keeping
a value in a register saves its L1 wavefront, its request and its load instruction, not only its L2 sector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from stallscope.kernels.ceilings import L1_UNITS, L2_UNITS, PIPES, SM_UNITS, Unit

Work = Literal["reloads", "l1 reloads", "double precision", "instructions", "matrix product", "block exchange"]

CHIPS: Mapping[str, str] = {
    "7.0": "gv100",
    "7.5": "tu102",
    "8.0": "ga100",
    "8.6": "ga102",
    "8.7": "ga10b",
    "8.9": "ad102",
    "9.0": "gh100",
    "10.0": "gb100",
    "10.3": "gb110",
    "12.0": "gb202",
    "12.1": "gb20b",
}
"""Compute capability → chip as ncu names it."""

SLOW_FP64 = frozenset({"tu102", "ga102", "ga10b", "ad102", "gb202", "gb20b"})
"""Chips whose FP64 unit is shared and fed through the MIO queues."""

_COUPLED: Mapping[Work, tuple[Unit, ...]] = {
    "reloads": (*L2_UNITS, *L1_UNITS),
    "l1 reloads": L1_UNITS,
    "double precision": (Unit.FP64,),
    "instructions": (*SM_UNITS, Unit.L1_REQUESTS),
    "matrix product": (*(pipe for pipe in PIPES if pipe is not Unit.TENSOR), Unit.ISSUE, Unit.SM, *L1_UNITS),
    "block exchange": (Unit.L1_DATA, Unit.L1_REQUESTS, Unit.L1_WRITEBACK, Unit.SM),
}


def chip_of(compute_capability: str) -> str:
    """The chip, or an empty text for one this version does not know."""
    return CHIPS.get(compute_capability, "")


def coupled(work: Work, chip: str) -> tuple[Unit, ...]:
    """Units that carry the work on the chip."""
    units = _COUPLED[work]
    if work == "double precision" and chip in SLOW_FP64:
        return (*units, Unit.L1_REQUESTS, Unit.SM)
    return units
