"""What a GPU must be able to do for a change to work: advice that the hardware cannot follow is no advice."""

from __future__ import annotations

import re
from typing import Literal, get_args

Feature = Literal[
    "async-copy",
    "split-barrier",
    "l2-persistence",
    "cluster",
    "distributed-shared-memory",
    "tensor-memory-accelerator",
    "memory-sync-domain",
    "programmatic-launch",
    "warpgroup-mma",
    "cluster-launch-control",
]
FEATURES: tuple[Feature, ...] = get_args(Feature)

# CUDA Programming Guide, appendix Compute Capabilities, and the chapters of the features.
_SINCE: dict[Feature, tuple[int, int]] = {
    "async-copy": (8, 0),
    "split-barrier": (8, 0),
    "l2-persistence": (8, 0),
    "cluster": (9, 0),
    "distributed-shared-memory": (9, 0),
    "tensor-memory-accelerator": (9, 0),
    "memory-sync-domain": (9, 0),
    "programmatic-launch": (9, 0),
    "warpgroup-mma": (9, 0),
    "cluster-launch-control": (10, 0),
}
_ONLY: dict[Feature, tuple[int, int]] = {"warpgroup-mma": (9, 0)}
_TARGET = re.compile(r"(?:sm|compute)_(\d+)([0-9])([af]?)")


def supports(compute_capability: str, feature: Feature) -> bool | None:
    """Whether the GPU has the feature; None when its capability is unknown."""
    version = _version(compute_capability)
    if version is None:
        return None
    return version == _ONLY[feature] if feature in _ONLY else version >= _SINCE[feature]


def target_problem(target: str, compute_capability: str) -> str:
    """Why code built for a target (`sm_90a`, `compute_80`) does not run natively on the GPU; empty when it does.

    Machine code (`sm_`) runs on later minor versions of the same major one; an `a` target on its own version only. PTX
    (`compute_`) runs on anything later, after being compiled at load time.
    """
    found, version = _TARGET.fullmatch(target), _version(compute_capability)
    if found is None or version is None:
        return ""
    built = (int(found[1]), int(found[2]))
    if found[3] == "a" and built != version:
        return (
            f"{target} is specific to compute capability {built[0]}.{built[1]} and does not run on {compute_capability}"
        )
    if target.startswith("compute"):
        if built > version:
            return f"PTX for {built[0]}.{built[1]} cannot be compiled for {compute_capability}"
        return f"{target} is PTX: it is compiled at load time (init.jit); build sm_{version[0]}{version[1]} as well"
    if built[0] != version[0] or built[1] > version[1]:
        return f"machine code for {built[0]}.{built[1]} does not run on {compute_capability}"
    return ""


def _version(compute_capability: str) -> tuple[int, int] | None:
    major, dot, minor = compute_capability.partition(".")
    return (int(major), int(minor)) if dot and major.isdigit() and minor.isdigit() else None
