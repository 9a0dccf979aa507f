"""The measured errors that the tolerances stand on, measured again."""

from __future__ import annotations

import numpy as np
import pytest
from emulation import operands, rounded, sequential, split_k

from stallscope.numerics.errors import relative_frobenius, scaled_max
from stallscope.numerics.tolerances import TOLERANCES, Precision, looks_like

RESULTS = {
    "fp32": lambda a, b: a @ b,
    "fp32-sequential": sequential,
    "tf32": lambda a, b: rounded(a, 10) @ rounded(b, 10),
    "bf16": lambda a, b: rounded(a, 7) @ rounded(b, 7),
    "bf16-io": lambda a, b: rounded(rounded(a, 7) @ rounded(b, 7), 7),
}


@pytest.mark.parametrize("reduction", [256, 4096])
@pytest.mark.parametrize("precision", list(RESULTS))
def test_correct_product_stays_below_its_bound_with_room_and_above_the_finer_formats(
    precision: Precision, reduction: int
) -> None:
    a, b = operands(reduction)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    result = RESULTS[precision](a, b).astype(np.float64)
    error, bound = relative_frobenius(result, exact), TOLERANCES[precision].relative_frobenius
    assert bound / 40 < error < bound / 1.2
    scaled = scaled_max(result, exact, np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    assert scaled < TOLERANCES[precision].scaled_max


def test_split_k_in_fp32_passes_the_fp32_bound() -> None:
    a, b = operands(4096)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert relative_frobenius(split_k(a, b, 8).astype(np.float64), exact) < 1e-6


@pytest.mark.parametrize("reduction", [256, 4096])
def test_input_rounding_is_recognised_at_any_reduction_length(reduction: int) -> None:
    a, b = operands(reduction)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    errors = {name: relative_frobenius(RESULTS[name](a, b).astype(np.float64), exact) for name in ("tf32", "bf16")}
    assert looks_like(errors["tf32"]).startswith("TF32")
    assert looks_like(errors["bf16"]).startswith("BF16")
    assert looks_like(relative_frobenius((a @ b).astype(np.float64), exact)) == ""
