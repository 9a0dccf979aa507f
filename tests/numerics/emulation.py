"""Matrix products on the CPU in the number formats of a GPU, rounding the inputs to nearest even."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Float32Array = npt.NDArray[np.float32]


def rounded(values: Float32Array, mantissa_bits: int) -> Float32Array:
    """fp32 values with a shorter mantissa: 10 bits for TF32, 7 for BF16."""
    drop = np.uint32(23 - mantissa_bits)
    bits = values.astype(np.float32).view(np.uint32)
    odd = (bits >> drop) & np.uint32(1)
    half = (np.uint32(1) << (drop - np.uint32(1))) - np.uint32(1)
    kept = ((bits + half + odd) >> drop) << drop
    return kept.view(np.float32)


def operands(reduction: int, size: int = 128, seed: int = 1) -> tuple[Float32Array, Float32Array]:
    rng = np.random.default_rng(seed)
    left = rng.standard_normal((size, reduction)).astype(np.float32)
    return left, rng.standard_normal((reduction, size)).astype(np.float32)


def split_k(left: Float32Array, right: Float32Array, parts: int) -> Float32Array:
    """fp32 partial products added up in fp32."""
    total: Any = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for a, b in zip(np.array_split(left, parts, axis=1), np.array_split(right, parts, axis=0), strict=True):
        total = total + a @ b
    return np.asarray(total, np.float32)


def sequential(left: Float32Array, right: Float32Array) -> Float32Array:
    """One running fp32 sum an element, term by term."""
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    for k in range(left.shape[1]):
        total += np.outer(left[:, k], right[k])
    return total
