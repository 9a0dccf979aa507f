"""ENUM tables of an export: the file's own symbols decide what a number means, a fallback stands in for old exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stallscope.model.events import (
    CopyKind,
    MemoryKind,
    MigrationCause,
    OverheadKind,
    StreamFlag,
    SyncKind,
)


@dataclass(frozen=True, slots=True)
class EnumTable:
    """One ENUM table: our value for each symbol of the export, and for each number where the table is missing."""

    name: str
    by_symbol: Mapping[str, int]
    fallback: Mapping[int, int]

    def values(self, symbols: Mapping[int, str]) -> dict[int, int]:
        """Number in this export → our value; numbers whose symbol nobody knows are left out."""
        if not symbols:
            return dict(self.fallback)
        found = {number: self._value(symbol) for number, symbol in symbols.items()}
        return {number: value for number, value in found.items() if value is not None}

    def _value(self, symbol: str) -> int | None:
        return next((v for suffix, v in self.by_symbol.items() if symbol.upper().endswith(suffix)), None)


MIGRATION = 100
"""Added to a CopyKind to mark the unified-memory kinds, which are migrations and not copies of a stream."""

COPY_KIND = EnumTable(
    "ENUM_CUDA_MEMCPY_OPER",
    {
        "KIND_UVM_HTOD": MIGRATION + CopyKind.HOST_TO_DEVICE,
        "KIND_UVM_DTOH": MIGRATION + CopyKind.DEVICE_TO_HOST,
        "KIND_UVM_DTOD": MIGRATION + CopyKind.DEVICE_TO_DEVICE,
        "KIND_HTOD": CopyKind.HOST_TO_DEVICE,
        "KIND_HTOA": CopyKind.HOST_TO_DEVICE,
        "KIND_DTOH": CopyKind.DEVICE_TO_HOST,
        "KIND_ATOH": CopyKind.DEVICE_TO_HOST,
        "KIND_ATOA": CopyKind.DEVICE_TO_DEVICE,
        "KIND_ATOD": CopyKind.DEVICE_TO_DEVICE,
        "KIND_DTOA": CopyKind.DEVICE_TO_DEVICE,
        "KIND_DTOD": CopyKind.DEVICE_TO_DEVICE,
        "KIND_HTOH": CopyKind.HOST_TO_HOST,
        "KIND_PTOP": CopyKind.PEER_TO_PEER,
        "KIND_UNKNOWN": CopyKind.UNKNOWN,
    },
    {
        0: CopyKind.UNKNOWN,
        1: CopyKind.HOST_TO_DEVICE,
        2: CopyKind.DEVICE_TO_HOST,
        3: CopyKind.HOST_TO_DEVICE,
        4: CopyKind.DEVICE_TO_HOST,
        5: CopyKind.DEVICE_TO_DEVICE,
        6: CopyKind.DEVICE_TO_DEVICE,
        7: CopyKind.DEVICE_TO_DEVICE,
        8: CopyKind.DEVICE_TO_DEVICE,
        9: CopyKind.HOST_TO_HOST,
        10: CopyKind.PEER_TO_PEER,
        11: MIGRATION + CopyKind.HOST_TO_DEVICE,
        12: MIGRATION + CopyKind.DEVICE_TO_HOST,
        13: MIGRATION + CopyKind.DEVICE_TO_DEVICE,
    },
)

MEMORY_KIND = EnumTable(
    "ENUM_CUDA_MEM_KIND",
    {
        "KIND_PAGEABLE": MemoryKind.PAGEABLE,
        "KIND_PINNED": MemoryKind.PINNED,
        "KIND_DEVICE_STATIC": MemoryKind.DEVICE,
        "KIND_MANAGED_STATIC": MemoryKind.MANAGED,
        "KIND_DEVICE": MemoryKind.DEVICE,
        "KIND_ARRAY": MemoryKind.ARRAY,
        "KIND_MANAGED": MemoryKind.MANAGED,
        "KIND_UNKNOWN": MemoryKind.UNKNOWN,
    },
    {
        0: MemoryKind.PAGEABLE,
        1: MemoryKind.PINNED,
        2: MemoryKind.DEVICE,
        3: MemoryKind.ARRAY,
        4: MemoryKind.MANAGED,
        5: MemoryKind.DEVICE,
        6: MemoryKind.MANAGED,
        7: MemoryKind.UNKNOWN,
    },
)

MIGRATION_CAUSE = EnumTable(
    "ENUM_CUDA_UNIF_MEM_MIGRATION",
    {
        "CAUSE_UNKNOWN": MigrationCause.UNKNOWN,
        "CAUSE_USER": MigrationCause.USER_PREFETCH,
        "CAUSE_COHERENCE": MigrationCause.PAGE_FAULT,
        "CAUSE_PREFETCH": MigrationCause.SPECULATIVE,
        "CAUSE_EVICTION": MigrationCause.EVICTION,
        "CAUSE_ACCESS_COUNTERS": MigrationCause.ACCESS_COUNTERS,
    },
    {
        0: MigrationCause.UNKNOWN,
        1: MigrationCause.USER_PREFETCH,
        2: MigrationCause.PAGE_FAULT,
        3: MigrationCause.SPECULATIVE,
        4: MigrationCause.EVICTION,
        5: MigrationCause.ACCESS_COUNTERS,
    },
)

SYNC_KIND = EnumTable(
    "ENUM_CUPTI_SYNC_TYPE",
    {
        "TYPE_UNKNOWN": SyncKind.UNKNOWN,
        "TYPE_EVENT_SYNCHRONIZE": SyncKind.EVENT,
        "TYPE_STREAM_WAIT_EVENT": SyncKind.STREAM_WAIT_EVENT,
        "TYPE_STREAM_SYNCHRONIZE": SyncKind.STREAM,
        "TYPE_CONTEXT_SYNCHRONIZE": SyncKind.CONTEXT,
    },
    {
        0: SyncKind.UNKNOWN,
        1: SyncKind.EVENT,
        2: SyncKind.STREAM_WAIT_EVENT,
        3: SyncKind.STREAM,
        4: SyncKind.CONTEXT,
    },
)

OVERHEAD_KIND = EnumTable(
    "ENUM_CUPTI_OVERHEAD_TYPE",
    {
        "DRIVER_COMPILER": OverheadKind.JIT,
        "BUFFER_FLUSH": OverheadKind.PROFILER,
        "INSTRUMENTATION": OverheadKind.PROFILER,
        "CUPTI_RESOURCE": OverheadKind.PROFILER,
        "MODULE_LOADING": OverheadKind.MODULE_LOADING,
        "LAZY_FUNCTION_LOADING": OverheadKind.LAZY_LOADING,
        "COMMAND_BUFFER_FULL": OverheadKind.COMMAND_BUFFER_FULL,
    },
    {
        2: OverheadKind.JIT,
        3: OverheadKind.PROFILER,
        4: OverheadKind.PROFILER,
        5: OverheadKind.PROFILER,
        6: OverheadKind.MODULE_LOADING,
        7: OverheadKind.LAZY_LOADING,
        8: OverheadKind.COMMAND_BUFFER_FULL,
    },
)

OVERHEAD_NAME = {"Unknown": OverheadKind.UNNAMED}
"""Rows of PROFILER_OVERHEAD that are not the profiler's.

CUPTI 12.4, the one in nsys 2023.4, reports seven kinds of overhead. The four that are the profiler's and the compiler's
have names in that export; the rest (module loading, lazy function loading, a full command buffer) are "Unknown".
"""

STREAM_FLAG = EnumTable(
    "ENUM_CUPTI_STREAM_TYPE",
    {
        "FLAG_UNKNOWN": StreamFlag.UNKNOWN,
        "FLAG_DEFAULT": StreamFlag.BLOCKING,
        "FLAG_NON_BLOCKING": StreamFlag.NON_BLOCKING,
        "FLAG_NULL": StreamFlag.NULL,
    },
    {0: StreamFlag.UNKNOWN, 1: StreamFlag.BLOCKING, 2: StreamFlag.NON_BLOCKING, 3: StreamFlag.NULL},
)

RESTORED, SAVED = 1, 0
CONTEXT_SWITCH = EnumTable(
    "ENUM_GPU_CTX_SWITCH",
    {"RESTORE_START": RESTORED, "SAVE_END": SAVED},
    {8: RESTORED, 7: SAVED},
)

TRIMMED = 1
POOL_OPERATION = EnumTable("ENUM_CUDA_MEMPOOL_OPER", {"TYPE_TRIMMED": TRIMMED}, {3: TRIMMED})

FREED, ALLOCATED = 1, 0
MEMORY_OPERATION = EnumTable(
    "ENUM_CUDA_DEV_MEM_EVENT_OPER",
    {"OPR_DEALLOCATION": FREED, "OPR_ALLOCATION": ALLOCATED},
    {0: ALLOCATED, 1: FREED},
)

PUSH_POP, START_END, DOMAIN = 1, 2, 3
NVTX_EVENT = EnumTable(
    "ENUM_NSYS_EVENT_TYPE",
    {
        "NVTXPUSHPOPRANGE": PUSH_POP,
        "NVTXSTARTENDRANGE": START_END,
        "NVTXTPUSHPOPRANGE": PUSH_POP,
        "NVTXTSTARTENDRANGE": START_END,
        "NVTXDOMAINCREATE": DOMAIN,
    },
    {59: PUSH_POP, 60: START_END, 70: PUSH_POP, 71: START_END, 75: DOMAIN},
)
