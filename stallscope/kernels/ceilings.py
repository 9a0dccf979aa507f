"""Utilisation of each hardware unit and the next-ceiling bound of a change.

With u_r the utilisation of unit r over the elapsed time, c_r what a kernel can reach of its peak, and φ_r the part of
the demand on r that a change removes, T'/T ≥ max_r u_r (1 − φ_r) / c_r. Hence gain ≤ 1 − max_r u_r (1 − φ_r) / c_r:
the unit that attains the maximum is the ceiling that stops the gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from stallscope.kernels import metrics as m
from stallscope.kernels.metrics import Quantity
from stallscope.kernels.readings import value_of
from stallscope.model.counters import KernelCounters


class Unit(Enum):
    """A hardware unit with a peak rate; the value is its name in reports."""

    DRAM = "dram"
    L2 = "l2"
    L2_TAGS = "l2.tags"
    L2_IN = "l2.in"
    L2_OUT = "l2.out"
    L1_DATA = "l1.data"
    L1_REQUESTS = "l1.requests"
    L1_WRITEBACK = "l1.writeback"
    L1_OUT = "l1.out"
    L1_IN = "l1.in"
    ISSUE = "issue"
    ALU = "pipe.alu"
    FMA = "pipe.fma"
    FP64 = "pipe.fp64"
    XU = "pipe.xu"
    TENSOR = "pipe.tensor"
    SM = "sm"


L2_UNITS = (Unit.L2, Unit.L2_TAGS, Unit.L2_IN, Unit.L2_OUT)
L1_UNITS = (Unit.L1_DATA, Unit.L1_REQUESTS, Unit.L1_WRITEBACK, Unit.L1_OUT, Unit.L1_IN)
PIPES = (Unit.ALU, Unit.FMA, Unit.FP64, Unit.XU, Unit.TENSOR)
SM_UNITS = (Unit.ISSUE, *PIPES, Unit.SM)
MEMORY_UNITS = (Unit.DRAM, *L2_UNITS, *L1_UNITS)

_READ_FROM: Mapping[Unit, tuple[Quantity, ...]] = {
    Unit.DRAM: (m.DRAM,),
    Unit.L2: (m.L2_SECTORS, m.L2_DATA),
    Unit.L2_TAGS: (m.L2_TAGS,),
    Unit.L2_IN: (m.L2_IN,),
    Unit.L2_OUT: (m.L2_OUT,),
    Unit.L1_DATA: (m.L1_DATA,),
    Unit.L1_REQUESTS: (m.L1_REQUESTS,),
    Unit.L1_WRITEBACK: (m.L1_WRITEBACK,),
    Unit.L1_OUT: (m.L1_OUT,),
    Unit.L1_IN: (m.L1_IN,),
    Unit.ISSUE: (m.ISSUE_SLOTS,),
    Unit.ALU: (m.ALU,),
    Unit.FMA: (m.FMA, m.FMA_HEAVY),
    Unit.FP64: (m.FP64,),
    Unit.XU: (m.XU,),
    Unit.TENSOR: (m.TENSOR,),
}
UNIT_QUANTITIES = (
    *(quantity for sources in _READ_FROM.values() for quantity in sources),
    m.L2_ALL,
    m.L1_ALL,
    m.SM_ALL,
    m.MEMORY,
)

DRAM_CEILING = 0.93
"""Just above the largest share of peak DRAM bandwidth seen: 0.895 on an H200, 0.906 on an RTX A4500."""
BINDING = 0.60
"""Utilisation (of the ceiling) from which a unit can be what limits a kernel; below it, latency does."""
NEAR_TOP = 0.90
"""A unit binds when it is the most utilised one or within a tenth of it."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The most a change can take off a kernel's time, and the unit that stops it there."""

    gain: float
    ceiling: str


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Utilisation by unit of one kernel. Empty when the file has no throughput section."""

    utilisation: Mapping[Unit, float]

    def of_ceiling(self, unit: Unit) -> float:
        """Utilisation as a share of what the unit can reach; 0 when it was not collected."""
        return self.utilisation.get(unit, 0.0) / attainable(unit)

    def highest(self, units: Iterable[Unit]) -> tuple[Unit, float]:
        """The most utilised of the units and its share of its ceiling."""
        unit = max(units, key=self.of_ceiling)
        return unit, self.of_ceiling(unit)

    @property
    def top(self) -> tuple[Unit, float]:
        """The most utilised unit of all."""
        return self.highest(Unit)

    def binds(self, units: Iterable[Unit]) -> bool:
        """Whether one of the units is what limits the kernel."""
        share = self.highest(units)[1]
        return share >= BINDING and share >= NEAR_TOP * self.top[1]

    def bound(self, freed: Mapping[Unit, float]) -> Bound:
        """Next-ceiling bound of a change that removes the given parts of the demand (0…1) on units."""
        left = {unit: self.of_ceiling(unit) * (1 - min(1.0, max(0.0, freed.get(unit, 0.0)))) for unit in Unit}
        unit = max(left, key=lambda one: left[one])
        return Bound(max(0.0, 1 - left[unit]), unit.value)


def attainable(unit: Unit) -> float:
    """What a kernel can reach of the unit's peak."""
    return DRAM_CEILING if unit is Unit.DRAM else 1.0


def ceilings_of(kernel: KernelCounters) -> Ceilings:
    """Utilisation of every unit the file knows; where the units of a level are missing, the level's own throughput.

    `lts__throughput` includes a part that grows with waiting and passes 100 % of what DRAM can feed (H200: 0.91 at
    0.86 of DRAM), so it is used only without the single units, and then no higher than the memory throughput.
    """
    found: dict[Unit, float] = {}
    for unit, sources in _READ_FROM.items():
        values = [value for source in sources if (value := value_of(kernel, source)) is not None]
        if values:
            found[unit] = max(values)
    if not found.keys() & set(L2_UNITS):
        _put(found, Unit.L2, _least(value_of(kernel, m.L2_ALL), value_of(kernel, m.MEMORY)))
    if not found.keys() & set(L1_UNITS):
        _put(found, Unit.L1_DATA, value_of(kernel, m.L1_ALL))
    if not found.keys() & {Unit.ISSUE, *PIPES}:
        _put(found, Unit.SM, value_of(kernel, m.SM_ALL))
    return Ceilings(found)


def _least(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return min(known) if known else None


def _put(found: dict[Unit, float], unit: Unit, value: float | None) -> None:
    if value is not None:
        found[unit] = value
