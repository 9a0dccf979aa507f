"""Measures of how far a result is from a reference, in double precision."""

from __future__ import annotations

import numpy as np

from stallscope.numerics.tensor import Float64Array


def relative_frobenius(result: Float64Array, reference: Float64Array) -> float:
    """‖result − reference‖F / ‖reference‖F over the finite elements.

    0 when both are zero, inf when only the reference is.
    """
    finite = np.isfinite(reference) & np.isfinite(result)
    error = float(np.linalg.norm((result - reference)[finite]))
    size = float(np.linalg.norm(reference[finite]))
    if not size:
        return 0.0 if not error else float("inf")
    return error / size


def largest_error(result: Float64Array, reference: Float64Array) -> float:
    """Largest absolute difference over the finite elements."""
    finite = np.isfinite(reference) & np.isfinite(result)
    return float(np.abs(result - reference)[finite].max()) if finite.any() else 0.0


def scaled_max(result: Float64Array, reference: Float64Array, scale: Float64Array) -> float:
    """Largest |result − reference| over `scale` = |A||B|, the natural size of rounding in a product.

    Unlike an element-wise relative error it does not explode where the sum cancels. Elements whose scale is zero must
    be exact: an error there counts as infinite.
    """
    error = np.abs(result - reference)
    if np.any(error[scale == 0] > 0):
        return float("inf")
    known = scale > 0
    return float((error[known] / scale[known]).max()) if known.any() else 0.0


def same_non_finite(result: Float64Array, reference: Float64Array) -> bool:
    """NaN and each infinity stand at the same places."""
    return bool(
        np.array_equal(np.isnan(result), np.isnan(reference))
        and np.array_equal(np.isposinf(result), np.isposinf(reference))
        and np.array_equal(np.isneginf(result), np.isneginf(reference))
    )


def stray_elements(result: Float64Array, reference: Float64Array, bound: float) -> int:
    """Elements far beyond rounding: a few corrupted ones hide in a norm over millions of good ones.

    Rounding errors of a product are about normal with a deviation of `bound` times the root mean square, so twelve
    deviations do not occur by chance; a part proportional to the element covers rounding on output.
    """
    finite = np.isfinite(reference) & np.isfinite(result)
    error, size = np.abs(result - reference)[finite], np.abs(reference[finite])
    if not len(size):
        return 0
    typical = float(np.sqrt(np.mean(size * size)))
    return int(np.count_nonzero(error > bound * (12 * typical + 4 * size)))
