"""When a measured difference deserves a word: improved, regressed, unchanged, or honestly inconclusive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stallscope.experiments.bootstrap import Difference
from stallscope.experiments.student import t_quantile
from stallscope.model.comparison import Basis, Delta, Verdict

CONFIDENCE: dict[Basis, float] = {"runs": 0.995, "steps": 0.998, "none": 0.998}
"""Of the step's interval, and of all wait ids' intervals together (Bonferroni).

Runs are independent, so 1 % of false alarms is allowed on paper. Steps of one run are skewed and correlated, their
spread is less well known, and the same promise needs wider intervals (`benchmarks/diff_false_alarms.py`).
"""

RUNS_FLOOR = 0.01
"""Smallest relative change of a step that repeated runs may claim."""

STEPS_FLOOR = 0.03
"""The same from the steps inside one run a side: what two runs of one program differ by was not observed."""

MARGIN = 0.05
"""`unchanged` needs the whole interval within this part of the base step: the power a comparison must have."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`band_ns` is the smallest change that gets a verdict, `margin_ns` the largest that may hide in `unchanged`."""

    band_ns: float
    margin_ns: float


def thresholds(step_ns: float, standard_error: float, samples: int, basis: Literal["runs", "steps"]) -> Thresholds:
    """The band is the floor of the basis, or what a base side differs by from itself, whichever is larger.

    `standard_error` is that of the base mean; two halves of one population differ by sqrt(2) of it.
    """
    floor = (RUNS_FLOOR if basis == "runs" else STEPS_FLOOR) * step_ns
    own = t_quantile(0.95, max(samples - 1, 1)) * standard_error * 2**0.5
    return Thresholds(max(floor, own), MARGIN * step_ns)


def verdict(difference: Difference | None, limits: Thresholds) -> Verdict:
    """Three-way decision: the interval must exclude zero and the change must exceed the band to be called a change."""
    if difference is None:
        return "inconclusive"
    if difference.low > 0 and difference.point >= limits.band_ns:
        return "regressed"
    if difference.high < 0 and difference.point <= -limits.band_ns:
        return "improved"
    if -limits.margin_ns <= difference.low and difference.high <= limits.margin_ns:
        return "unchanged"
    return "inconclusive"


def delta(base_ns: float, head_ns: float, difference: Difference | None, limits: Thresholds) -> Delta:
    """One row of a comparison. Without an interval the whole range of either value stays possible."""
    change = head_ns - base_ns
    low, high = (difference.low, difference.high) if difference else (-base_ns, head_ns)
    return Delta(
        base_ns=round(base_ns),
        head_ns=round(head_ns),
        delta_ns=round(change),
        low_ns=round(low),
        high_ns=round(high),
        relative=round(change / base_ns, 6) if base_ns else 0.0,
        verdict=verdict(difference, limits),
    )
