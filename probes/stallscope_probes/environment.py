"""What the numbers of a probe were measured on: device, driver, versions, clocks. By allow-list, nothing else."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from stallscope_probes.device.machine import Machine

PACKAGES = ("torch", "triton", "cuda-bindings", "nvidia-nccl-cu13", "nvidia-nccl-cu12")


def versions() -> dict[str, str]:
    """Versions of the packages that decide what runs."""
    installed = {distribution.name: distribution.version for distribution in metadata.distributions()}
    return {package: installed[package] for package in PACKAGES if package in installed}


def device(machine: Machine) -> dict[str, Any]:
    """Name, driver and size of the device."""
    if machine.kind == "cpu":
        return {"name": "cpu"}
    import pynvml
    import torch

    pynvml.nvmlInit()
    properties = torch.cuda.get_device_properties(machine.device)
    return {
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "processors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "driver": str(pynvml.nvmlSystemGetDriverVersion()),
        "cuda": torch.version.cuda,
    }


def clocks(machine: Machine) -> dict[str, int]:
    """Clocks, temperature and throttle reasons right now; empty where NVML does not tell."""
    if machine.kind == "cpu":
        return {}
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(machine.device.index)
        return {
            "sm_mhz": int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
            "memory_mhz": int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_MEM)),
            "temperature_c": int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
            "throttle_reasons": int(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)),
        }
    except (ImportError, AttributeError, pynvml.NVMLError):
        return {}
