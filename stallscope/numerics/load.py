"""Tensors from files, without running anything a file says."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from stallscope.errors import InputError, ToolMissingError
from stallscope.numerics.tensor import WIDTH_BYTES, Tensor, from_numpy

POLICY_KEY = "stallscope_policy"
"""Entry of a saved dictionary that holds the precision policy (`stallscope.numerics.policy`)."""

_SAFETENSORS = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2", "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8",
    "U64": "uint64", "U32": "uint32", "U16": "uint16", "U8": "uint8", "BOOL": "bool", "C64": "complex64",
}  # fmt: skip
_MAX_HEADER_BYTES = 100 << 20
_MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a program computed: tensors by name, and under which precision policy if that was recorded."""

    name: str
    tensors: Mapping[str, Tensor]
    policy: Mapping[str, str] | None = field(default=None)


def load_outputs(path: Path) -> Outputs:
    """Read `.pt`/`.pth` (needs torch, loads with `weights_only=True`), `.npz`, `.npy` or `.safetensors`.

    Raises `InputError` when the file is none of these or damaged, `ToolMissingError` when torch is needed and missing.
    """
    try:
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise InputError((error.strerror or "cannot be read").lower(), file=path.name) from error
    try:
        return _read(path, head)
    except (ValueError, KeyError, EOFError, OSError, zipfile.BadZipFile, json.JSONDecodeError) as error:
        next_step = "give .pt, .npz, .npy or .safetensors with the program's outputs"
        raise InputError(f"no tensors can be read: {error}", file=path.name, next_step=next_step) from error


def _read(path: Path, head: bytes) -> Outputs:
    if head.startswith(b"\x93NUMPY"):
        return Outputs(path.name, {"output": from_numpy(np.load(path, allow_pickle=False))})
    if path.suffix == ".safetensors":
        return Outputs(path.name, _safetensors(path))
    if head.startswith(b"PK") and _is_npz(path):
        with np.load(path, allow_pickle=False) as arrays:
            return Outputs(path.name, {name: from_numpy(arrays[name]) for name in arrays.files})
    return _torch(path)


def _is_npz(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    return bool(names) and all(name.endswith(".npy") for name in names)


def _safetensors(path: Path) -> dict[str, Tensor]:
    """Layout: u64 header length, JSON header, data; offsets are relative to the end of the header."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 0 < length <= min(_MAX_HEADER_BYTES, size - 8):
            raise ValueError("the header length is impossible")
        header = json.loads(file.read(length))
    if not isinstance(header, dict):
        raise ValueError("the header is not an object")  # noqa: TRY004 - a damaged file, not a caller's mistake
    if size == 8 + length:
        return {}
    data = np.memmap(path, np.uint8, "r", offset=8 + length)
    return {name: _stored(data, entry) for name, entry in header.items() if name != "__metadata__"}


def _stored(data: np.memmap[Any, Any], entry: Mapping[str, Any]) -> Tensor:
    dtype = _SAFETENSORS[entry["dtype"]]
    shape, (begin, end) = tuple(int(n) for n in entry["shape"]), entry["data_offsets"]
    count = int(np.prod(shape, dtype=np.int64))
    if not 0 <= begin <= end <= len(data) or end - begin != count * WIDTH_BYTES[dtype]:
        raise ValueError("a tensor lies outside the file")
    return Tensor(dtype, shape, np.array(data[begin:end]))


def _torch(path: Path) -> Outputs:
    try:
        import torch
    except ImportError as error:
        raise ToolMissingError(
            "reading a PyTorch file needs torch", file=path.name, next_step="pip install torch, or save .npz"
        ) from error
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, AttributeError, TypeError) as error:
        message = "holds more than plain tensors, or is damaged (only tensors in dicts, lists and tuples are loaded)"
        raise InputError(message, file=path.name, next_step="save a dict of tensors with torch.save") from error
    policy = None
    if isinstance(saved, dict) and isinstance(saved.get(POLICY_KEY), dict):
        policy = {str(key): str(value) for key, value in saved.pop(POLICY_KEY).items()}
    tensors = {name: _from_torch(tensor) for name, tensor in _leaves(saved, "", torch.Tensor)}
    if not tensors:
        raise InputError("holds no tensors", file=path.name, next_step="save the program's outputs with torch.save")
    return Outputs(path.name, tensors, policy)


def _leaves(saved: object, prefix: str, kind: type, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Tensors in nested dicts, lists and tuples, named by their path."""
    if isinstance(saved, kind):
        yield prefix or "output", saved
    elif depth < _MAX_DEPTH and isinstance(saved, Mapping):
        for key, value in saved.items():
            yield from _leaves(value, f"{prefix}.{key}" if prefix else str(key), kind, depth + 1)
    elif depth < _MAX_DEPTH and isinstance(saved, Sequence) and not isinstance(saved, str | bytes):
        for index, value in enumerate(saved):
            yield from _leaves(value, f"{prefix}.{index}" if prefix else str(index), kind, depth + 1)


def _from_torch(tensor: Any) -> Tensor:
    import torch

    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in WIDTH_BYTES:
        raise ValueError(f"element type {dtype} is not supported")
    if tensor.layout != torch.strided:
        tensor = tensor.to_dense()
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous().reshape(-1)
    raw = plain.view(torch.uint8).numpy() if plain.numel() else np.empty(0, np.uint8)
    return Tensor(dtype, tuple(tensor.shape), np.array(raw))
