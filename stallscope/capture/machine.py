"""What this machine can profile: profilers, driver and GPUs, permissions, disk. Looks, and never changes anything."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from stallscope.capture.programs import Program, find_program

State = Literal["ok", "limited", "missing"]

PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
DRIVER_PARAMETERS = Path("/proc/driver/nvidia/params")
HIGHEST_PARANOID = 2
LEAST_FREE_BYTES = 5 << 30

_INSTALL = {
    "nsys": "install Nsight Systems and put it on PATH, or set STALLSCOPE_NSYS; .sqlite exports need no nsys",
    "ncu": "install Nsight Compute and put it on PATH; CSV exports of reports need no ncu",
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that was looked at; `remedy` is empty when there is nothing to do."""

    subject: str
    state: State
    detail: str
    remedy: str = ""


def conditions(nsys: str | None, ncu: str | None, folder: Path) -> Iterator[Condition]:
    """Everything that decides what can be captured and read here; `folder` is where exports are kept."""
    yield _program("nsys", find_program("nsys", nsys))
    yield _program("ncu", find_program("ncu", ncu))
    yield from _gpus()
    yield from _sampling()
    yield from _counters()
    yield _disk(folder)


def _program(name: str, found: Program | None) -> Condition:
    if found is None:
        return Condition(name, "missing", "not found", _INSTALL[name])
    if found.fault:
        return Condition(name, "missing", f"{_shown(found.path)}: {found.fault}", _INSTALL[name])
    return Condition(name, "ok", f"{found.version or 'version unknown'} ({_shown(found.path)})")


def _shown(path: Path) -> str:
    """The path without the user's name in it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _gpus() -> Iterator[Condition]:
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield Condition("driver", "missing", "no NVIDIA driver here", "traces from other machines can be analyzed")
        return
    try:
        yield Condition("driver", "ok", str(pynvml.nvmlSystemGetDriverVersion()))
        for index in range(pynvml.nvmlDeviceGetCount()):
            yield _gpu(index)
    except pynvml.NVMLError as error:
        yield Condition("driver", "limited", f"does not answer: {error}", "check with nvidia-smi")
    finally:
        pynvml.nvmlShutdown()


def _gpu(index: int) -> Condition:
    import pynvml

    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    name = str(pynvml.nvmlDeviceGetName(handle))
    try:
        partitioned = pynvml.nvmlDeviceGetMigMode(handle)[0] == pynvml.NVML_DEVICE_MIG_ENABLE
    except pynvml.NVMLError:
        partitioned = False
    if partitioned:
        remedy = "give the MIG instance to the program with CUDA_VISIBLE_DEVICES; GPU metrics cover whole GPUs only"
        return Condition(f"GPU {index}", "limited", f"{name}, partitioned (MIG)", remedy)
    return Condition(f"GPU {index}", "ok", name)


def _sampling() -> Iterator[Condition]:
    """CPU samples and context switches need perf; without them, host waits have no reason beyond the API call."""
    level = _number(PARANOID)
    if level is None:
        return
    if level <= HIGHEST_PARANOID:
        yield Condition("CPU sampling", "ok", f"perf_event_paranoid is {level}")
    else:
        remedy = f"sudo sysctl kernel.perf_event_paranoid={HIGHEST_PARANOID}, or profile with --sample=none"
        yield Condition("CPU sampling", "limited", f"perf_event_paranoid is {level}", remedy)


def _counters() -> Iterator[Condition]:
    """Nsight Compute and GPU metrics read counters that the driver may keep for administrators."""
    try:
        lines = DRIVER_PARAMETERS.read_text("utf-8").splitlines()
    except OSError:
        return
    restricted = any(line.replace(" ", "") == "RmProfilingAdminOnly:1" for line in lines)
    if restricted:
        remedy = "run ncu as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0"
        yield Condition("GPU counters", "limited", "for administrators only", remedy)
    else:
        yield Condition("GPU counters", "ok", "readable by users")


def _disk(folder: Path) -> Condition:
    place = next(path for path in (folder, *folder.parents) if path.is_dir())
    free = shutil.disk_usage(place).free
    detail = f"{free / (1 << 30):.1f} GiB free for exports"
    if free < LEAST_FREE_BYTES:
        return Condition("disk", "limited", detail, "free some, or set STALLSCOPE_CACHE_DIR to a larger disk")
    return Condition("disk", "ok", detail)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text("utf-8"))
    except (OSError, ValueError):
        return None
