"""What to try next: one change, how to measure it, and the result that would refute it."""

from __future__ import annotations

from typing import Literal

import msgspec

Numerics = Literal["bit-identical", "fp64-gate"]


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """Expected change of one metric, as an interval: `low <= baseline - changed <= high`."""

    metric: str
    low: int
    high: int


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """One change to one variable.

    `numerics` says which gate the changed program must pass: a bit-identical change that alters a result is a race.
    """

    title: str
    change: str
    apply: tuple[str, ...]
    measure: str
    refuted_if: str
    numerics: Numerics
    expect: Prediction | None = None
    effort: Literal["flag", "lines", "rewrite"] = "lines"
