"""How wrong a correct result may be, by the precision it was computed in.

The bounds come from measured errors of matrix products of normal numbers against double precision (relative Frobenius
error, and largest error over |A||B|), reduction lengths 16 to 16,384; `docs/numerics.md` has the table and
`tests/numerics/test_emulation.py` measures it again. They leave room for a longer or less careful reduction and none
for the next coarser format: TF32 is a thousand times above fp32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Precision = Literal["fp64", "fp32", "fp32-sequential", "tf32", "fp16", "bf16", "bf16-io", "fp8"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Bounds of one precision: relative Frobenius error, and largest error scaled by |A||B|."""

    relative_frobenius: float
    scaled_max: float


TOLERANCES: dict[Precision, Tolerance] = {
    "fp64": Tolerance(1e-13, 1e-14),
    "fp32": Tolerance(3e-6, 1e-6),
    "fp32-sequential": Tolerance(1e-5, 2e-6),
    "tf32": Tolerance(5e-4, 8e-4),
    "fp16": Tolerance(5e-4, 8e-4),
    "bf16": Tolerance(4e-3, 6e-3),
    "bf16-io": Tolerance(5e-3, 9e-3),
    "fp8": Tolerance(8e-2, 1e-1),
}
"""The Frobenius error of input rounding does not depend on the reduction length; its scaled maximum falls with the
square root of it and is bounded for lengths from 16."""

_BY_DTYPE: dict[str, Precision] = {
    "float64": "fp64",
    "complex128": "fp64",
    "float32": "fp32",
    "complex64": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16-io",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
}

# Relative Frobenius errors by which a coarser input format gives itself away, independent of the reduction length.
_SIGNATURES: tuple[tuple[float, float, str], ...] = (
    (1.5e-4, 6e-4, "TF32 or FP16 inputs (their rounding gives about 2.9e-4 at any reduction length)"),
    (1.5e-3, 5e-3, "BF16 inputs (their rounding gives about 2.3e-3 at any reduction length)"),
)


def precision_of(dtype: str) -> Precision:
    """The precision a tensor of that element type is expected to be computed in."""
    return _BY_DTYPE[dtype]


def looks_like(relative_frobenius: float) -> str:
    """Which coarser input format an error is typical of; empty when none."""
    return next((name for low, high, name in _SIGNATURES if low <= relative_frobenius <= high), "")
