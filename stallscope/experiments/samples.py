"""Which repeats a comparison rests on: several runs a side, or the steps inside one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stallscope.experiments.bootstrap import FloatArray, Sampling, block_length, worth_pairing
from stallscope.experiments.runs import Run, warm_up


@dataclass(frozen=True, slots=True)
class Samples:
    """Repeats of both sides. `basis` is `runs` (one mean a run), `steps`, or `none` when a side has a single value."""

    basis: Literal["runs", "steps", "none"]
    base: tuple[FloatArray, ...]
    head: tuple[FloatArray, ...]
    skipped: int
    sampling: Sampling
    runs: tuple[tuple[Run, ...], tuple[Run, ...]]

    def durations(self) -> tuple[FloatArray, FloatArray]:
        """Step durations to compare."""
        return _flat(self.base, self.basis), _flat(self.head, self.basis)

    def charged(self, wait: str) -> tuple[FloatArray, FloatArray]:
        """Charges of one wait id, in the same rows as `durations`."""
        sides = [tuple(run.charged(wait)[self.skipped :] for run in side) for side in self.runs]
        return _flat(sides[0], self.basis), _flat(sides[1], self.basis)


def gather(base: Sequence[Run], head: Sequence[Run], *, paired: bool | None = None) -> Samples:
    """Pick the strongest basis the runs allow; `paired` overrules the guess whether repeats belong together."""
    skipped = warm_up([*base, *head])
    sides = [tuple(run.durations()[skipped:] for run in side) for side in (base, head)]
    basis: Literal["runs", "steps", "none"]
    if min(len(base), len(head)) >= 2:
        basis = "runs"
    elif min(sum(map(len, side)) for side in sides) >= 2:
        basis = "steps"
    else:
        basis = "none"
    flat = _flat(sides[0], basis), _flat(sides[1], basis)
    together = worth_pairing(*flat) if paired is None else paired and len(flat[0]) == len(flat[1])
    block = block_length(min(len(flat[0]), len(flat[1]))) if basis == "steps" else 1
    return Samples(basis, sides[0], sides[1], skipped, Sampling(block, together), (tuple(base), tuple(head)))


def _flat(side: Sequence[FloatArray], basis: str) -> FloatArray:
    filled = [values for values in side if len(values)]
    if not filled:
        return np.empty(0, np.float64)
    if basis == "runs":
        return np.array([values.mean() for values in filled])
    return np.concatenate(filled)
