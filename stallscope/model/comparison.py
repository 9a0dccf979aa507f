"""The diff document: what changed between two sets of runs, with a verdict on every row and every prediction."""

from __future__ import annotations

from typing import Literal

import msgspec

from stallscope.model.analysis import Tool

Verdict = Literal["improved", "regressed", "unchanged", "inconclusive", "not comparable"]
PredictionOutcome = Literal["confirmed", "partial", "refuted", "moved", "invalid"]
Basis = Literal["runs", "steps", "none"]


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why the sides cannot be compared, or what weakens the comparison. `id` is a `valid.*` or `env.*` id."""

    id: str
    message: str


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    runs: int
    sources: tuple[str, ...] = ()
    steps: int = 0
    step_name: str = ""
    step_basis: str = ""
    environment: dict[str, str] = {}


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity on both sides, in nanoseconds a step; `[low_ns, high_ns]` is the interval of head - base."""

    base_ns: int
    head_ns: int
    delta_ns: int
    low_ns: int
    high_ns: int
    relative: float
    verdict: Verdict


class KernelDelta(msgspec.Struct, frozen=True, kw_only=True):
    """One kernel signature whose launches or duration changed; `signature` is empty on the side that lacks it."""

    kernel: str
    signature: str
    nvtx: tuple[str, ...]
    base_launches: float
    head_launches: float
    base_ns: int
    head_ns: int
    delta_ns: int


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one prediction of the base analysis."""

    finding: str
    wait: str
    experiment: str
    verdict: PredictionOutcome
    predicted_low_ns: int
    predicted_high_ns: int
    measured_low_ns: int
    measured_high_ns: int
    reason: str


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """How small a change this comparison could see.

    `band_ns` is the smallest change of a step that gets a verdict; `basis` says whether it comes from repeated runs or
    only from the steps inside one run.
    """

    basis: Basis
    band_ns: int
    base_samples: int
    head_samples: int
    confidence: float
    paired: bool
    message: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict on head against base. Without comparability there are no numbers, only `reasons`."""

    schema_version: str = "1.0"
    tool: Tool = Tool()
    verdict: Verdict
    headline: str
    base: Side
    head: Side
    step: Delta | None = None
    waits: dict[str, Delta] = {}
    kernels: tuple[KernelDelta, ...] = ()
    predictions: tuple[Judgement, ...] = ()
    untested: tuple[str, ...] = ()
    reasons: tuple[Reason, ...] = ()
    noise: Noise | None = None

    def to_json(self, *, indent: int = 2) -> str:
        """The document as JSON; the same inputs give the same bytes."""
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=indent).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Comparison:
        """Read a saved document. Raises `msgspec.ValidationError` when it is not one."""
        return msgspec.json.decode(text, type=cls)
