"""Names and categories of the PyTorch profiler, over all its versions, as the model spells them."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from stallscope.model.events import CopyKind, MemoryKind, OverheadKind, SyncKind


class Category(Enum):
    """What an event is."""

    KERNEL = "kernel"
    COPY = "gpu_memcpy"
    MEMSET = "gpu_memset"
    API = "cuda_runtime"
    SYNC = "cuda_sync"
    OVERHEAD = "overhead"
    ANNOTATION = "user_annotation"
    OPERATOR = "cpu_op"
    PYTHON = "python_function"


CATEGORIES: dict[str, Category] = {
    **{category.value: category for category in Category},
    "cuda_driver": Category.API,
    "hip_runtime": Category.API,
    "hip_driver": Category.API,
    "Kernel": Category.KERNEL,
    "Memcpy": Category.COPY,
    "Memset": Category.MEMSET,
    "Runtime": Category.API,
    "Driver": Category.API,
    "Operator": Category.OPERATOR,
    "user annotation": Category.ANNOTATION,
}
"""Categories that are read. All others (flow arrows, annotations projected on the GPU, counters) are no work."""

ACCELERATORS: dict[str, str] = {
    "mtia_": "MTIA",
    "hpu_": "Habana Gaudi (HPU)",
    "xpu_": "Intel GPU (XPU)",
    "privateuse1_": "a PrivateUse1 accelerator",
}
"""Category prefixes of accelerators that are neither CUDA nor HIP."""

_COPIES = {
    "HtoD": CopyKind.HOST_TO_DEVICE,
    "DtoH": CopyKind.DEVICE_TO_HOST,
    "DtoD": CopyKind.DEVICE_TO_DEVICE,
    "HtoH": CopyKind.HOST_TO_HOST,
    "PtoP": CopyKind.PEER_TO_PEER,
    "HtoA": CopyKind.HOST_TO_DEVICE,
    "AtoH": CopyKind.DEVICE_TO_HOST,
    "AtoA": CopyKind.DEVICE_TO_DEVICE,
    "AtoD": CopyKind.DEVICE_TO_DEVICE,
    "DtoA": CopyKind.DEVICE_TO_DEVICE,
}
_MEMORY = {
    "Pageable": MemoryKind.PAGEABLE,
    "Pinned": MemoryKind.PINNED,
    "Device": MemoryKind.DEVICE,
    "Array": MemoryKind.ARRAY,
    "Managed": MemoryKind.MANAGED,
}
_COPY = re.compile(r"Memcpy (\w+)(?: \((\w+) -> (\w+)\))?")

HIP_COPIES = (CopyKind.HOST_TO_HOST, CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST, CopyKind.DEVICE_TO_DEVICE)
"""hipMemcpyKind 0…3, as a HIP call records it; the ROCm device row calls many host copies DtoD."""

_SYNCS = {
    "Event Sync": SyncKind.EVENT,
    "Stream Wait Event": SyncKind.STREAM_WAIT_EVENT,
    "Stream Sync": SyncKind.STREAM,
    "Context Sync": SyncKind.CONTEXT,
}
_OVERHEADS = {
    "Command Buffer Full": OverheadKind.COMMAND_BUFFER_FULL,
    "Lazy Function Loading": OverheadKind.LAZY_LOADING,
    "Runtime Triggered Module Loading": OverheadKind.MODULE_LOADING,
    "Module Loading": OverheadKind.MODULE_LOADING,
    "Driver Compiler": OverheadKind.JIT,
}

_SUFFIX = re.compile(r"(?:_v\d+|_ptsz|_ptds)+$")
_STEP = re.compile(r"^ProfilerStep\s*#\s*\d+$")
_FOLDERS = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\:;,()<>\"']+[/\\])+")
_ANNOTATION = re.compile(r"^(?:ProfilerStep|enumerate\(DataLoader\)|Optimizer\.|DistributedDataParallel|nccl:|gloo:)")
_OWN_FRAME = re.compile(r"^(?!<|torch/(?!utils/data/)|threading\.py|contextlib\.py|importlib|runpy\.py|_?abc\.py)")


def copy_kinds(name: str) -> tuple[int, int, int]:
    """`Memcpy HtoD (Pageable -> Device)` → (CopyKind, MemoryKind of the source, of the destination)."""
    found = _COPY.match(name)
    if not found:
        return CopyKind.UNKNOWN, MemoryKind.UNKNOWN, MemoryKind.UNKNOWN
    direction, source, target = found.groups()
    return (
        _COPIES.get(direction, CopyKind.UNKNOWN),
        _MEMORY.get(source, MemoryKind.UNKNOWN),
        _MEMORY.get(target, MemoryKind.UNKNOWN),
    )


def sync_kind(name: str) -> int:
    """SyncKind of a `cuda_sync` event."""
    return _SYNCS.get(name, SyncKind.UNKNOWN)


def overhead_kind(name: str) -> int:
    """OverheadKind of an `overhead` event; whatever is not the driver's work is the profiler's."""
    return _OVERHEADS.get(name, OverheadKind.PROFILER)


def call_name(name: str) -> str:
    """API call without its ABI suffix; HIP names stay HIP names."""
    return _SUFFIX.sub("", name)


def range_name(name: str) -> str:
    """Annotation text without absolute folders; `ProfilerStep#12` → `ProfilerStep`, so that steps repeat."""
    if _STEP.match(name):
        return "ProfilerStep"
    return _FOLDERS.sub("", name) if "/" in name or "\\" in name else name


@lru_cache(maxsize=1 << 16)
def is_annotation(name: str) -> bool:
    """Old traces call annotations operators; these are the ones that PyTorch itself writes."""
    return bool(_ANNOTATION.match(name))


@lru_cache(maxsize=1 << 16)
def is_own_frame(name: str) -> bool:
    """A Python frame of the user's program, or a module's forward; not the interpreter's or the framework's inside."""
    return bool(_OWN_FRAME.match(name))


def short_kernel_name(name: str) -> str:
    """Base name of a kernel as Nsight prints it: no return type, namespaces, template or call arguments."""
    if name.startswith("_Z"):
        return _mangled(name)
    flat = name.replace("(anonymous namespace)", "anonymous")
    depth, kept = 0, []
    for letter in flat:
        if letter == "(" and depth == 0:
            break
        depth += (letter == "<") - (letter == ">")
        if depth == 0 and letter != ">":
            kept.append(letter)
    words = "".join(kept).strip().split()
    base = words[-1].rsplit("::", 1)[-1] if words else ""
    return base or name


def _mangled(name: str) -> str:
    """Last identifier of the nested name of an Itanium-mangled function."""
    position, last = 2, ""
    if name[position : position + 1] == "N":
        position += 1
    while found := re.compile(r"\d+").match(name, position):
        length = int(found.group())
        word = name[found.end() : found.end() + length]
        if len(word) < length or not length:
            break
        last = word if not word.startswith("_GLOBAL__N") else last
        position = found.end() + length
    return last or name
