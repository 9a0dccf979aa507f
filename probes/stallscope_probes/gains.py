"""Predicted against measured: what the report said a repair is worth, and what it was worth without a profiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from stallscope_probes.verdicts import Label, Verdict

RESAMPLES = 4000
CONFIDENCE = 0.95


class Gain(msgspec.Struct, frozen=True, kw_only=True):
    """One bad variant and its repair; nanoseconds a repeat. `low` and `high` bound the measured median difference."""

    family: str
    bad: str
    fixed: str
    predicted_low_ns: int
    predicted_high_ns: int
    measured_ns: int
    measured_low_ns: int
    measured_high_ns: int
    bad_ns: int
    wait_ns: int = 0
    reason: str = ""

    @property
    def contained(self) -> bool:
        """Whether the predicted and the measured interval have a value in common."""
        return self.predicted_low_ns <= self.measured_high_ns and self.measured_low_ns <= self.predicted_high_ns

    @property
    def width(self) -> float | None:
        """Length of the predicted interval as a part of the wait; None where nothing was predicted."""
        told = self.wait_ns and self.predicted_high_ns
        return (self.predicted_high_ns - self.predicted_low_ns) / self.wait_ns if told else None


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Line of a timing session (`stallscope_probes.timing.PairTiming`)."""

    family: str
    bad: str
    fixed: str
    status: str = "ok"
    reason: str = ""
    bad_ns: tuple[int, ...] = ()
    fixed_ns: tuple[int, ...] = ()


def gain(label: Label, verdict: Verdict, timing: Timing, reason: str = "") -> Gain:
    """Compare what removing the variant's waits was said to give with the median paired difference.

    The repair removes what was put in, so that is the low end; whether it also removes what the label allows beside it
    is open, so that counts at the high end only. A wait behind a busy device lies in time that the ledger charges to
    other ids: of the two the larger counts. A window of n repeats begins with the first operation and so holds between
    n - 1 and n times what happens once a repeat.
    """
    low = sum(verdict.recoverable_ns.get(wait, (0, 0))[0] for wait in label.expect)
    high = _once({wait: bounds[1] for wait, bounds in verdict.recoverable_ns.items()}, label, verdict)
    wait = _once(verdict.wait_ns, label, verdict)
    repeats = max(label.repeats, 1)
    boundaries = max(repeats - 1, 1)
    middle, (bottom, top) = paired_difference(timing.bad_ns, timing.fixed_ns)
    return Gain(
        family=timing.family,
        bad=timing.bad,
        fixed=timing.fixed,
        predicted_low_ns=low // repeats,
        predicted_high_ns=high // boundaries,
        measured_ns=middle,
        measured_low_ns=bottom,
        measured_high_ns=top,
        bad_ns=int(np.median(timing.bad_ns)),
        wait_ns=wait // boundaries,
        reason=reason,
    )


def _once(values_ns: Mapping[str, int], label: Label, verdict: Verdict) -> int:
    """Sum over the variant's ids, with time behind a busy device not counted twice."""
    ids = {*label.expect, *label.may}
    ledger = sum(values_ns.get(wait, 0) for wait in ids - verdict.beside)
    return max([ledger, *(values_ns.get(wait, 0) for wait in ids & verdict.beside)])


def paired_difference(bad_ns: Sequence[int], fixed_ns: Sequence[int]) -> tuple[int, tuple[int, int]]:
    """Median of the blocks' differences and its bootstrap interval; the same input gives the same output."""
    differences = np.asarray(bad_ns, np.int64) - np.asarray(fixed_ns, np.int64)
    draws = np.random.default_rng(0).integers(0, len(differences), (RESAMPLES, len(differences)))
    medians = np.median(differences[draws], axis=1)
    tail = 100 * (1 - CONFIDENCE) / 2
    bottom, top = np.percentile(medians, [tail, 100 - tail])
    return int(np.median(differences)), (int(bottom), int(top))
