"""The precision switches a program ran under: two results are comparable only under the same ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stallscope.numerics.load import POLICY_KEY
from stallscope.numerics.report import PolicyDifference

UNKNOWN = "unknown"

ENVIRONMENT = (
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCHINDUCTOR_EMULATE_PRECISION_CASTS",
    "TRITON_F32_DEFAULT",
)
"""Variables that change results. Only these are ever recorded."""

_TORCH: tuple[tuple[str, Callable[[Any], object]], ...] = (
    ("matmul.allow_tf32", lambda torch: torch.backends.cuda.matmul.allow_tf32),
    ("matmul.fp32_precision", lambda torch: torch.backends.cuda.matmul.fp32_precision),
    ("float32_matmul_precision", lambda torch: torch.get_float32_matmul_precision()),
    ("cudnn.allow_tf32", lambda torch: torch.backends.cudnn.allow_tf32),
    ("cudnn.benchmark", lambda torch: torch.backends.cudnn.benchmark),
    ("cudnn.deterministic", lambda torch: torch.backends.cudnn.deterministic),
    ("fp16_reduced_reduction", lambda torch: torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction),
    ("bf16_reduced_reduction", lambda torch: torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction),
    ("fp16_accumulation", lambda torch: torch.backends.cuda.matmul.allow_fp16_accumulation),
    ("deterministic_algorithms", lambda torch: torch.are_deterministic_algorithms_enabled()),
)

# What `-use_fast_math` and its parts stand for (nvcc documentation; clang spells it -ffast-math).
_FAST_MATH = ("use_fast_math", "ffast-math", "ftz=true", "prec-div=false", "prec-sqrt=false")


def current_policy(compiler_flags: str = "") -> dict[str, str]:
    """Switches of this process: torch's (when it is imported), the environment's, and fast-math compiler flags."""
    torch = sys.modules.get("torch")
    policy = {name: _read(torch, reader) for name, reader in _TORCH} if torch is not None else {}
    policy.update({name: os.environ[name][:64] for name in ENVIRONMENT if name in os.environ})
    policy["fast_math"] = ",".join(flag for flag in _FAST_MATH if flag in compiler_flags) or "off"
    return policy


def _read(torch: Any, reader: Callable[[Any], object]) -> str:
    """Newer torch refuses to read the old TF32 switch after the new one was set."""
    try:
        return str(reader(torch))
    except (AttributeError, RuntimeError):
        return UNKNOWN


def save_outputs(path: str | Path, tensors: Mapping[str, Any], compiler_flags: str = "") -> None:
    """Write torch tensors together with the precision policy of this process, for `stallscope numerics`."""
    import torch

    torch.save({**tensors, POLICY_KEY: current_policy(compiler_flags)}, path)


def policy_differences(base: Mapping[str, str] | None, head: Mapping[str, str] | None) -> tuple[PolicyDifference, ...]:
    """Switches that differ; a switch that one side does not know says nothing, a variable that is unset does."""
    if base is None or head is None:
        return ()
    found = []
    for switch in sorted(base.keys() | head.keys()):
        missing = "unset" if switch in ENVIRONMENT else UNKNOWN
        mine, other = base.get(switch, missing), head.get(switch, missing)
        if mine != other and UNKNOWN not in (mine, other):
            found.append(PolicyDifference(switch=switch, base=mine, head=other))
    return tuple(found)
