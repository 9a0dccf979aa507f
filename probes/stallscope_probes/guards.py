"""Says before a probe starts why this machine must not or cannot run it."""

from __future__ import annotations

import importlib.util
import shutil

from stallscope_probes.contract import Family, Variant
from stallscope_probes.device.machine import Machine, UnavailableError

MOST_OF_FREE_MEMORY = 0.5
MOST_MANAGED_BYTES = 1 << 30
MOST_MANAGED_OF_FREE = 0.05
HOPPER = 90


def require(machine: Machine, family: Family, variant: Variant) -> None:
    """Raise `UnavailableError` unless the variant may run: device features first, then memory."""
    if machine.kind == "cpu":
        return
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.bindings") is None:
        raise UnavailableError("cuda-bindings (with NVRTC) is not installed: pip install 'stallscope[probes]'")
    for need in family.needs:
        _NEEDS[need](machine)
    free, _ = machine.free_bytes()
    require_memory(variant, free)


def require_memory(variant: Variant, free_bytes: int) -> None:
    """Plain memory: half of what is free. Managed memory: 1 GiB and 5 %, so that it is never oversubscribed."""
    if variant.bytes > MOST_OF_FREE_MEMORY * free_bytes:
        raise UnavailableError(f"needs {_mib(variant.bytes)} of device memory; {_mib(free_bytes)} are free")
    limit = min(MOST_MANAGED_BYTES, int(MOST_MANAGED_OF_FREE * free_bytes))
    if variant.managed_bytes > limit:
        raise UnavailableError(
            f"needs {_mib(variant.managed_bytes)} of managed memory; at most {_mib(limit)} is safe with "
            f"{_mib(free_bytes)} free"
        )


def _mib(count: int) -> str:
    return f"{count / (1 << 20):.0f} MiB"


def _architecture(machine: Machine) -> int:
    return int(getattr(machine, "arch", "0"))


def _programmatic_launch(machine: Machine) -> None:
    if _architecture(machine) < HOPPER:
        raise UnavailableError("programmatic dependent launch needs compute capability 9.0")


def _memory_sync_domains(machine: Machine) -> None:
    if _architecture(machine) < HOPPER:
        raise UnavailableError("this GPU has a single memory-sync domain; they came with compute capability 9.0")


def _nvcc(_machine: Machine) -> None:
    if shutil.which("nvcc") is None:
        raise UnavailableError("nvcc is not on the PATH; it comes with the CUDA toolkit")


def _two_gpus(_machine: Machine) -> None:
    import torch

    count = torch.cuda.device_count()
    if count < 2:
        raise UnavailableError(f"needs at least 2 GPUs; {count} is visible")


_NEEDS = {
    "programmatic launch": _programmatic_launch,
    "memory-sync domains": _memory_sync_domains,
    "nvcc": _nvcc,
    "2 GPUs": _two_gpus,
}
