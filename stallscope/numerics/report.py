"""The numerics gate's document."""

from __future__ import annotations

from typing import Literal

import msgspec

GateClass = Literal["bit-identical", "kernel"]


class TensorResult(msgspec.Struct, frozen=True, kw_only=True):
    """One tensor's comparison.

    `relative_frobenius` is ‖head − reference‖ / ‖reference‖, `scaled_max` the largest error over |A||B| (only with
    operands), `largest_error` the largest absolute error; None where not computed. `base_relative_frobenius` is the
    base's own error against a separate reference. `id` is the validity id a failure belongs to.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    passed: bool
    elements: int
    different: int = 0
    id: str = ""
    reason: str = ""
    relative_frobenius: float | None = None
    base_relative_frobenius: float | None = None
    scaled_max: float | None = None
    largest_error: float | None = None
    bound: float | None = None


class PolicyDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A precision switch that differs between the sides."""

    switch: str
    base: str
    head: str


class NumericsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict of the gate over all tensors and the precision policy."""

    schema_version: str = "1.0"
    passed: bool
    gate: GateClass
    base: str
    head: tuple[str, ...]
    reference: str = ""
    tensors: tuple[TensorResult, ...] = ()
    policy: tuple[PolicyDifference, ...] = ()
    reasons: tuple[str, ...] = ()

    def to_json(self, *, indent: int = 2) -> str:
        """The document as JSON."""
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=indent).decode() + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> NumericsReport:
        """Read a saved document. Raises `msgspec.ValidationError` when it is not one."""
        return msgspec.json.decode(text, type=cls)
