"""What the Nsight Systems exporters of 2020 to 2026 call their tables, and the calls in them."""

from __future__ import annotations

import re
from collections.abc import Iterable

STRINGS = ("StringIds",)
EXPORT_METADATA = ("META_DATA_EXPORT", "EXPORT_META_DATA")
CAPTURE_METADATA = ("META_DATA_CAPTURE",)
DIAGNOSTICS = ("DIAGNOSTIC_EVENT",)
ANALYSIS_DETAILS = ("ANALYSIS_DETAILS",)
GPUS = ("TARGET_INFO_GPU",)
SYSTEM = ("TARGET_INFO_SYSTEM_ENV",)
SESSION = ("TARGET_INFO_SESSION_START_TIME",)
CUDA_DEVICES = ("TARGET_INFO_CUDA_DEVICE",)
CUDA_STREAMS = ("TARGET_INFO_CUDA_STREAM",)
CUDA_CONTEXTS = ("TARGET_INFO_CUDA_CONTEXT_INFO",)
CUDA_NULL_STREAMS = ("TARGET_INFO_CUDA_NULL_STREAM",)
GPU_METRIC_NAMES = ("TARGET_INFO_GPU_METRICS",)

KERNELS = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
COPIES = ("CUPTI_ACTIVITY_KIND_MEMCPY",)
MEMSETS = ("CUPTI_ACTIVITY_KIND_MEMSET",)
GRAPH_RUNS = ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",)
API_CALLS = ("CUPTI_ACTIVITY_KIND_RUNTIME",)
DRIVER_CALLS = ("CUPTI_ACTIVITY_KIND_DRIVER",)
SYNCS = ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",)
EVENT_RECORDS = ("CUPTI_ACTIVITY_KIND_CUDA_EVENT",)
HOST_CALLBACKS = ("CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE_AND_HOST_LAUNCH",)
OVERHEADS = ("CUPTI_ACTIVITY_KIND_OVERHEAD",)
PROFILER_OVERHEADS = ("PROFILER_OVERHEAD",)
JIT = ("CUPTI_ACTIVITY_KIND_JIT",)
NVTX = ("NVTX_EVENTS",)
OS_CALLS = ("OSRT_API",)
SCHEDULING = ("SCHED_EVENTS",)
GPU_FAULTS = ("CUDA_UM_GPU_PAGE_FAULT_EVENTS",)
CPU_FAULTS = ("CUDA_UM_CPU_PAGE_FAULT_EVENTS",)
MEMORY_EVENTS = ("CUDA_GPU_MEMORY_USAGE_EVENTS",)
POOL_EVENTS = ("CUDA_GPU_MEMORY_POOL_EVENTS",)
CONTEXT_SWITCHES = ("GPU_CONTEXT_SWITCH_EVENTS", "FECS_EVENTS")
GPU_METRICS = ("GPU_METRICS",)

CUDA_TABLES = (KERNELS, COPIES, MEMSETS, GRAPH_RUNS, API_CALLS, DRIVER_CALLS, SYNCS, EVENT_RECORDS)
"""Tables that only a CUDA trace writes."""

READ = (
    STRINGS,
    EXPORT_METADATA,
    CAPTURE_METADATA,
    DIAGNOSTICS,
    ANALYSIS_DETAILS,
    GPUS,
    SYSTEM,
    SESSION,
    CUDA_DEVICES,
    CUDA_STREAMS,
    CUDA_CONTEXTS,
    CUDA_NULL_STREAMS,
    GPU_METRIC_NAMES,
    *CUDA_TABLES,
    HOST_CALLBACKS,
    OVERHEADS,
    PROFILER_OVERHEADS,
    JIT,
    NVTX,
    OS_CALLS,
    SCHEDULING,
    GPU_FAULTS,
    CPU_FAULTS,
    MEMORY_EVENTS,
    POOL_EVENTS,
    CONTEXT_SWITCHES,
    GPU_METRICS,
)
"""Every table this reader looks into, by all its names."""

_EVENT_TABLES = (*CUDA_TABLES, NVTX, OS_CALLS, SCHEDULING, GPU_METRICS, CONTEXT_SWITCHES, PROFILER_OVERHEADS)
_MARKS = (CAPTURE_METADATA, GPUS, ("PROCESSES",), ("COMPOSITE_EVENTS",), ("ProcessStreams",))


def is_read(table: str) -> bool:
    """Whether this reader looks into the table: an ENUM table, or one it knows under any of its names."""
    name = re.sub(r"_V\d+$", "", table, flags=re.IGNORECASE)
    return name.startswith("ENUM_") or any(name in group for group in READ)


def holds_events(table: str) -> bool:
    """Whether the table is one of those that grow with the length of a capture."""
    return is_read(table) and not table.startswith(("ENUM_", "StringIds", "TARGET_INFO_", "META_DATA", "EXPORT_META"))


def looks_like_export(tables: Iterable[str]) -> bool:
    """Whether these table names come from an Nsight Systems export."""
    names = set(tables)
    if actual(names, EXPORT_METADATA):
        return True  # even where the strings were left out
    marks = any(actual(names, wanted) for wanted in (*_EVENT_TABLES, *_MARKS))
    return marks and actual(names, STRINGS) is not None


def actual(tables: Iterable[str], wanted: tuple[str, ...]) -> str | None:
    """The table of this export that carries one of the wanted names, a `_V2`-like version suffix included."""
    names = set(tables)
    for name in wanted:
        if name in names:
            return name
        versions = sorted(t for t in names if _is_version(t, name))
        if versions:
            return versions[-1]
    return None


def _is_version(table: str, name: str) -> bool:
    stem = f"{name}_V".lower()
    return table.lower().startswith(stem) and table[len(stem) :].isdecimal()


_ABI = re.compile(r"_v\d+$")
_THREAD_STREAM = re.compile(r"_(ptsz|ptds)$")
_DRIVER_VERSION = re.compile(r"_v\d+$")


def api_name(recorded: str) -> str:
    """`cudaLaunchKernel_ptsz_v7000` → `cudaLaunchKernel`, `cuMemFree_v2` → `cuMemFree`."""
    name = _THREAD_STREAM.sub("", _ABI.sub("", recorded))
    return _DRIVER_VERSION.sub("", name)
