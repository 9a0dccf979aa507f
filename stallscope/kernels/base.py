"""What a kernel rule is: static metadata, one pure function of declared quantities and unit ceilings, a cause out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from stallscope.kernels import metrics as m
from stallscope.kernels.ceilings import Bound, Ceilings, Unit
from stallscope.kernels.metrics import Quantity
from stallscope.kernels.readings import Readings
from stallscope.kernels.tiles import Knobs
from stallscope.model import findings
from stallscope.model.experiments import Experiment
from stallscope.model.findings import EvidenceLevel

REACHED_OF_BOUND = 0.95
"""Typical part of the modelled gain that a fix reaches where the waste binds; fitted on the tuning pairs."""
MIN_PART = 0.02
"""Part of a unit's demand below which a waste does not touch the unit."""
MIN_GAIN = 0.03
"""A cause that is likely worth less is reported as true but not as the kernel's cause."""
MIN_GAIN_OVER_FINE = 0.25
"""A kernel that keeps its unit busy is fine unless a fix is likely worth a quarter of its time."""


class Stage(Enum):
    """Order of the decision procedure; the value weighs the likely gain when causes are ranked.

    A specific waste comes before a ceiling and a ceiling before the latency it explains as well.
    """

    TRUST = 100.0
    PARALLELISM = 1.0
    PLACEMENT = 1.01
    WASTE = 1.02
    THROUGHPUT = 0.8
    LATENCY = 0.79
    GENERIC = 0.6
    OK = 0.0


@dataclass(frozen=True, slots=True)
class KernelRuleMeta:
    """Static description. Without the quantities `needs` the rule abstains; `uses` are looked at when there.

    `needs_ceilings`: at least one throughput must be known.
    """

    id: str
    title: str
    stage: Stage
    needs: tuple[Quantity, ...] = ()
    uses: tuple[Quantity, ...] = ()
    needs_ceilings: bool = True

    @property
    def docs(self) -> str:
        """Page of the documentation."""
        return f"waits/{self.id}"


@dataclass(frozen=True, slots=True)
class Fact:
    """One number of evidence and the metric it was read from."""

    label: str
    value: float
    unit: findings.Unit
    metric: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a kernel takes its time.

    `likely` is the expected part of the kernel's time a fix gives back, `bound` the most it can.
    `wait` is the part of the time the cause accounts for (at least `bound.gain` is claimed from it).
    """

    likely: float
    bound: Bound
    level: EvidenceLevel
    message: str
    facts: tuple[Fact, ...]
    assumes: str
    caveats: tuple[str, ...] = ()


Diagnose = Callable[[Readings, Ceilings], "Cause | None"]
Propose = Callable[[Knobs], tuple[Experiment, ...]]


def no_experiments(_knobs: Knobs) -> tuple[Experiment, ...]:
    """Nothing to change: the kernel is fine or too small to judge."""
    return ()


@dataclass(frozen=True, slots=True)
class KernelRule:
    """A rule: what it says, when it applies, what to try next."""

    meta: KernelRuleMeta
    diagnose: Diagnose
    propose: Propose = field(default=no_experiments)


def fact(k: Readings, quantity: Quantity, label: str = "", unit: findings.Unit = "ratio") -> Fact:
    """The quantity as evidence."""
    return Fact(label or quantity.name, k[quantity], unit, k.source(quantity))


def stall_fact(k: Readings, reason: str) -> Fact:
    """The share of warp time a stall reason holds."""
    share = k.stalls[reason] if k.stalls else 0.0
    return Fact(f"{reason} share of warp time", share, "ratio", m.STALL_METRIC.format(reason=reason))


def unit_fact(ceilings: Ceilings, unit: Unit) -> Fact:
    """Utilisation of a unit."""
    return Fact(f"{unit.value} utilisation", ceilings.utilisation.get(unit, 0.0), "ratio", unit.value)


def idle_share(k: Readings) -> float | None:
    """Part of the kernel's time in which its active SMs issue nothing; needs m.ISSUE_ACTIVE."""
    issue = k.get(m.ISSUE_ACTIVE)
    return None if issue is None else max(0.0, 1 - issue)


@dataclass(frozen=True, slots=True)
class Worth:
    """What removing a demand is worth, and whether the unit that carries it binds the kernel."""

    likely: float
    bound: Bound
    binds: bool


def waste_worth(k: Readings, ceilings: Ceilings, freed: Mapping[Unit, float], reasons: tuple[str, ...]) -> Worth:
    """Worth of removing the given parts of the demand on units.

    Where one of the units binds, the time follows the demand down to the next unit. Where none does, the waste costs at
    most the idle issue slots that the stall reasons it causes hold: a waste beside the limit is true and worth next to
    nothing.
    """
    bound = ceilings.bound(freed)
    touched = [unit for unit, part in freed.items() if part >= MIN_PART]
    if touched and ceilings.binds(touched):
        scaled = 1 - (1 - bound.gain) / ceilings.top[1]
        return Worth(REACHED_OF_BOUND * max(0.0, scaled), bound, binds=True)
    idle = idle_share(k)
    if k.stalls is None or idle is None:
        return Worth(0.0, bound, binds=False)
    waited = k.stalls.sum(*reasons) * idle * max(freed.values(), default=0.0)
    return Worth(min(bound.gain, waited), bound, binds=False)


def latency_worth(k: Readings, ceilings: Ceilings, share: float) -> Worth:
    """Worth of hiding a latency that holds `share` of the warp time: idle issue slots, up to the next ceiling."""
    bound = ceilings.bound({})
    idle = idle_share(k)
    return Worth(min(bound.gain, share * (idle if idle is not None else 0.0)), bound, binds=False)
