"""Runs every rule on one kernel and puts what they find in order: trust, then what is worth most, then what is fine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stallscope.kernels import metrics as m
from stallscope.kernels.base import MIN_GAIN, MIN_GAIN_OVER_FINE, Cause, KernelRule, Stage
from stallscope.kernels.ceilings import Ceilings, ceilings_of
from stallscope.kernels.metrics import Quantity
from stallscope.kernels.readings import Readings, value_of

UNKNOWN = "unknown.unattributed"
Outcome = Literal["found", "clean", "not_applicable", "failed"]


@dataclass(frozen=True, slots=True)
class Result:
    """What one rule said about one kernel; `missing` names what would have to be collected."""

    rule: KernelRule
    outcome: Outcome
    cause: Cause | None = None
    missing: tuple[Quantity, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """A cause with the rule it came from."""

    rule: KernelRule
    cause: Cause

    @property
    def wait(self) -> str:
        """The cause's id."""
        return self.rule.meta.id

    @property
    def score(self) -> float:
        """What causes are ranked by: the likely gain, weighed by the stage of the decision procedure."""
        return self.cause.likely * self.rule.meta.stage.value


@dataclass(frozen=True, slots=True)
class Verdict:
    """All results for one kernel. `ranked` holds the causes, the kernel's own first; `cause` is its id."""

    readings: Readings
    ceilings: Ceilings
    results: tuple[Result, ...]
    ranked: tuple[Found, ...]

    @property
    def cause(self) -> str:
        """Id of the cause, or `unknown.unattributed`."""
        return self.ranked[0].wait if self.ranked and self._decided else UNKNOWN

    @property
    def _decided(self) -> bool:
        first = self.ranked[0]
        return first.rule.meta.stage in (Stage.TRUST, Stage.OK) or first.cause.likely >= MIN_GAIN


def judge(readings: Readings, rules: tuple[KernelRule, ...]) -> Verdict:
    """Every rule on one kernel; a rule that lacks a quantity abstains, a broken one never costs the others."""
    ceilings = ceilings_of(readings.kernel)
    results = tuple(_run(rule, readings, ceilings) for rule in rules)
    return Verdict(readings, ceilings, results, rank(results))


def rank(results: tuple[Result, ...]) -> tuple[Found, ...]:
    """Causes in order. A kernel too short to judge says only that; `ok` follows every cause worth its while."""
    found = [Found(result.rule, result.cause) for result in results if result.cause is not None]
    untrusted = [one for one in found if one.rule.meta.stage is Stage.TRUST]
    if untrusted:
        return tuple(untrusted)
    fine = [one for one in found if one.rule.meta.stage is Stage.OK]
    causes = sorted((one for one in found if one not in fine), key=lambda one: (-one.score, one.wait))
    enough = MIN_GAIN_OVER_FINE if fine else MIN_GAIN
    worth = [one for one in causes if one.cause.likely >= enough]
    return (*worth, *fine, *(one for one in causes if one not in worth))


def _run(rule: KernelRule, readings: Readings, ceilings: Ceilings) -> Result:
    missing = [quantity for quantity in rule.meta.needs if _absent(quantity, readings)]
    if rule.meta.needs_ceilings and not ceilings.utilisation:
        missing.append(m.SM_ALL)
    if missing:
        return Result(rule, "not_applicable", missing=tuple(missing))
    try:
        cause = rule.diagnose(readings.limited_to((*rule.meta.needs, *rule.meta.uses)), ceilings)
    except Exception as error:  # noqa: BLE001 the check names the broken rule, the other rules still answer
        return Result(rule, "failed", error=f"{type(error).__name__}: {error}")
    return Result(rule, "clean" if cause is None else "found", cause)


def _absent(quantity: Quantity, readings: Readings) -> bool:
    if quantity is m.STALLS:
        return readings.stalls is None
    return value_of(readings.kernel, quantity) is None
