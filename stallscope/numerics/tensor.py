"""One tensor as raw bits with the meaning of its element type; nothing here needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Float64Array: TypeAlias = npt.NDArray[np.float64]

WIDTH_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1,
    "complex64": 8, "complex128": 16, "bool": 1,
    "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip

_NUMPY_FLOATS = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
_BITS: dict[int, type[np.unsignedinteger[Any]]] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(frozen=True, slots=True)
class Tensor:
    """Element type by its PyTorch name, shape, and the flat little-endian bytes of the elements."""

    dtype: str
    shape: tuple[int, ...]
    raw: npt.NDArray[np.uint8]

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64)) if self.shape else 1

    @property
    def is_exact(self) -> bool:
        """Integers and truth values have no rounding to tolerate."""
        return not self.dtype.startswith(("float", "bfloat", "complex"))

    def different_bits(self, other: Tensor) -> npt.NDArray[np.bool_]:
        """One flag an element: do its bits differ? Both tensors must have one dtype and shape."""
        width = WIDTH_BYTES[self.dtype]
        if width in _BITS:
            unit = _BITS[width]
            return np.asarray(self.raw.view(unit) != other.raw.view(unit))
        halves = self.raw.view(np.uint64) != other.raw.view(np.uint64)
        return np.asarray(halves.reshape(-1, width // 8).any(axis=1))

    def float64(self) -> Float64Array:
        """Flat values in double precision; a complex element becomes two."""
        if self.dtype in _NUMPY_FLOATS:
            return np.asarray(self.raw.view(_NUMPY_FLOATS[self.dtype]), np.float64)
        if self.dtype == "bfloat16":
            widened = self.raw.view(np.uint16).astype(np.uint32) << np.uint32(16)
            return np.asarray(widened.view(np.float32), np.float64)
        if self.dtype.startswith("complex"):
            return np.asarray(self.raw.view(np.float32 if self.dtype == "complex64" else np.float64), np.float64)
        if self.dtype.startswith("float8"):
            return np.asarray(_float8_values(self.dtype)[self.raw])
        return np.asarray(self.raw.view(np.dtype(self.dtype)), np.float64)


def from_numpy(array: npt.NDArray[Any]) -> Tensor:
    """A tensor of a numpy array. Raises `ValueError` for element types without a fixed meaning (objects, text)."""
    name = array.dtype.name
    if name not in WIDTH_BYTES:
        raise ValueError(f"element type {name} is not a number")
    little = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
    return Tensor(name, tuple(array.shape), little.reshape(-1).view(np.uint8))


def _float8_values(dtype: str) -> Float64Array:
    """Value of each of the 256 codes (OCP 8-bit floating point: e4m3fn has no infinities, e5m2 is IEEE-like)."""
    exponent_bits, mantissa_bits = (4, 3) if dtype == "float8_e4m3fn" else (5, 2)
    codes = np.arange(256)
    sign = np.where(codes >> 7, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = codes & ((1 << mantissa_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    fraction = mantissa / (1 << mantissa_bits)
    normal = (1 + fraction) * np.exp2(exponent.astype(np.float64) - bias)
    values = sign * np.where(exponent == 0, fraction * 2.0 ** (1 - bias), normal)
    top = exponent == (1 << exponent_bits) - 1
    if dtype == "float8_e4m3fn":
        return np.where(top & (mantissa == (1 << mantissa_bits) - 1), np.nan, values)
    return np.where(top, np.where(mantissa == 0, sign * np.inf, np.nan), values)
