"""When a measured difference deserves a word: improved, regressed, unchanged, or honestly inconclusive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
"""The same from the steps inside one run a side."""

HOST_UNSEEN, DEVICE_UNSEEN = 0.85, 0.35
"""What two runs of one program differ by, as parts of a step's waits, where one run a side cannot show it.

From seven captures of each of 104 workloads on three machines (`benchmarks/diff_recaptured.py`): the 99 % quantile is
0.76 for the waits that the host's speed decides; those of link and device vary half as much, and work hardly at all.
"""

_DEVICE_WAITS = ("uvm.", "fence.", "copy.exposed", "copy.pageable", "offload.", "comm.", "link.", "dep.")
_WORK = ("ok.", "kernel.")

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


@dataclass(frozen=True, slots=True)
class Unseen:
    """Run-to-run variation that single runs do not show, in nanoseconds a step (standard errors add in squares)."""

    host_ns: float
    device_ns: float

    @classmethod
    def of(cls, waits_ns: Mapping[str, float]) -> Unseen:
        """From the charges of a step of one side."""
        device = [ns for wait, ns in waits_ns.items() if wait.startswith(_DEVICE_WAITS)]
        work = sum(ns for wait, ns in waits_ns.items() if wait.startswith(_WORK))
        return cls(HOST_UNSEEN * (sum(waits_ns.values()) - sum(device) - work), DEVICE_UNSEEN * math.hypot(*device))

    def larger(self, other: Unseen) -> Unseen:
        """Of two sides: the one that varies more is the one to beat."""
        return Unseen(max(self.host_ns, other.host_ns), max(self.device_ns, other.device_ns))

    def of_row(self, wait: str, wait_ns: float) -> float:
        """For one id. Time moves freely between the host's ids, so any of them may vary by the sum of all."""
        if wait.startswith(_WORK):
            return 0.0
        return DEVICE_UNSEEN * wait_ns if wait.startswith(_DEVICE_WAITS) else self.host_ns

    def of_step(self) -> float:
        """For the whole step."""
        return math.hypot(self.host_ns, self.device_ns)


def widened(limits: Thresholds, unseen_ns: float) -> Thresholds:
    """`limits` with a band that the unseen variation is part of."""
    return replace(limits, band_ns=math.hypot(limits.band_ns, unseen_ns))


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
