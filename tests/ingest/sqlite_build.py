"""Small synthetic exports with the tables and columns of each exporter generation. Nothing here was captured."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model.columns import Table
from stallscope.model.trace import Trace

T = TypeVar("T", bound=Table)

FRESH = OpenOptions(use_cache=False)

_SPAN = "start end"
_ACTIVITY = f"{_SPAN} deviceId contextId streamId correlationId globalPid"
_KERNEL = (
    f"{_ACTIVITY} demangledName shortName launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY "
    "blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted "
    "graphNodeId"
)
_NVTX = (
    f"{_SPAN} eventType rangeId category color text: globalTid endGlobalTid textId domainId uint64Value int64Value "
    "doubleValue uint32Value int32Value floatValue"
)
_GPU = "vmId id name: l2CacheSize totalMemory memoryBandwidth smCount uuid: cuDevice computeMajor computeMinor"
_MEMORY = (
    "start globalPid deviceId contextId address pc bytes memKind memoryOperationType name: correlationId "
    "localMemoryPoolAddress localMemoryPoolReleaseThreshold localMemoryPoolSize localMemoryPoolUtilizedSize"
)

_2020 = {
    "StringIds": "id value:",
    "CUPTI_ACTIVITY_KIND_KERNEL": _KERNEL,
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_ACTIVITY} bytes copyKind srcId srcKind dstKind srcDeviceId graphNodeId",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_ACTIVITY} value bytes graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{_SPAN} eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_ACTIVITY} syncType eventId",
    "NVTX_EVENTS": _NVTX,
    "OSRT_API": f"{_SPAN} eventClass globalTid nameId returnValue nestingLevel callchainId",
    "SCHED_EVENTS": "start cpu isSchedIn globalTid",
    "PROFILER_OVERHEAD": f"{_SPAN} globalTid nameId returnValue",
    "TARGET_INFO_GPU": "vmId id name: busLocation: l2CacheSize totalMemory memoryBandwidth smCount",
}
_2022 = {
    **_2020,
    "EXPORT_META_DATA": "name: value:",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_KERNEL} mangledName sharedMemoryLimitConfig",
    "CUPTI_ACTIVITY_KIND_MEMCPY": _2020["CUPTI_ACTIVITY_KIND_MEMCPY"].replace("srcId", "deprecatedSrcId")
    + " migrationCause virtualAddress",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": "deviceId contextId streamId correlationId globalPid eventId",
    "NVTX_EVENTS": f"{_NVTX} jsonTextId jsonText:",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start globalPid address CpuInstruction module",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": f"{_SPAN} globalPid deviceId address numberOfPageFaults faultAccessType",
    "CUDA_GPU_MEMORY_USAGE_EVENTS": _MEMORY,
    "CUDA_GPU_MEMORY_POOL_EVENTS": "start globalPid deviceId address operationType poolType correlationId",
    "FECS_EVENTS": "tag vmId seqNo contextId timestamp globalPid gpuId",
    "TARGET_INFO_GPU": _GPU,
    "TARGET_INFO_CUDA_STREAM": "streamId hwId vmId processId contextId priority flag",
    "TARGET_INFO_CUDA_NULL_STREAM": "streamId hwId vmId processId deviceId contextId",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime: localTime:",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName: name: nameEnum value:",
    **{
        f"ENUM_{name}": "id name: label:"
        for name in (
            "CUDA_MEMCPY_OPER",
            "CUDA_MEM_KIND",
            "CUDA_UNIF_MEM_MIGRATION",
            "CUPTI_SYNC_TYPE",
            "CUPTI_STREAM_TYPE",
            "CUPTI_OVERHEAD_TYPE",
            "CUDA_MEMPOOL_OPER",
            "CUDA_DEV_MEM_EVENT_OPER",
            "GPU_CTX_SWITCH",
            "NSYS_EVENT_TYPE",
        )
    },
}
_2023 = {
    **{name: columns for name, columns in _2022.items() if name not in {"EXPORT_META_DATA", "FECS_EVENTS"}},
    "META_DATA_EXPORT": "name: value:",
    "META_DATA_CAPTURE": "name: value:",
    "CUPTI_ACTIVITY_KIND_KERNEL": _2022["CUPTI_ACTIVITY_KIND_KERNEL"] + " greenContextId",
    "GPU_CONTEXT_SWITCH_EVENTS": _2022["FECS_EVENTS"],
    "GPU_METRICS": "timestamp typeId metricId value",
    "TARGET_INFO_GPU_METRICS": "typeId sourceId typeName: metricId metricName:",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId hwId vmId processId deviceId contextId isGreenContext",
}
_2026 = {
    **_2023,
    "CUPTI_ACTIVITY_KIND_KERNEL": _2023["CUPTI_ACTIVITY_KIND_KERNEL"] + " graphId clusterX clusterY clusterZ",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_ACTIVITY} deprecatedSyncType syncType eventId eventSyncId",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": _2022["CUPTI_ACTIVITY_KIND_CUDA_EVENT"] + " timestamp eventSyncId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_ACTIVITY} greenContextId graphId graphExecId",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": f"{_SPAN} eventClass globalTid correlationId nameId overheadType",
    "CUPTI_ACTIVITY_KIND_JIT": f"{_SPAN} eventClass globalTid correlationId nameId overheadType jitEntryType",
    "CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE_AND_HOST_LAUNCH": f"{_ACTIVITY} graphNodeId graphId",
    "PROFILER_OVERHEAD": f"{_SPAN} globalTid nameId overheadType",
    "DIAGNOSTIC_EVENT": "timestamp timestampType source severity text: globalPid",
    "NVTX_EVENTS": f"{_NVTX} jsonTextId jsonText: binaryData:",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid uuid: numMultiprocessors",
    "SCHED_EVENTS": "start cpu isSchedIn globalTid threadState threadBlock",
}

SCHEMAS: Mapping[str, Mapping[str, str]] = {"2020.4": _2020, "2022.4": _2022, "2023.4": _2023, "2026.2": _2026}
SCHEMA_VERSION = {"2022.4": "3.0.0", "2023.4": "3.7.2", "2026.2": "3.25.0"}

ENUMS: Mapping[str, Mapping[int, str]] = {
    "ENUM_CUDA_MEMCPY_OPER": {
        0: "CUDA_MEMCPY_KIND_UNKNOWN",
        1: "CUDA_MEMCPY_KIND_HTOD",
        2: "CUDA_MEMCPY_KIND_DTOH",
        8: "CUDA_MEMCPY_KIND_DTOD",
        9: "CUDA_MEMCPY_KIND_HTOH",
        10: "CUDA_MEMCPY_KIND_PTOP",
        11: "CUDA_MEMCPY_KIND_UVM_HTOD",
        12: "CUDA_MEMCPY_KIND_UVM_DTOH",
        13: "CUDA_MEMCPY_KIND_UVM_DTOD",
    },
    "ENUM_CUDA_MEM_KIND": {
        0: "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE",
        1: "CUDA_MEMOPR_MEMORY_KIND_PINNED",
        2: "CUDA_MEMOPR_MEMORY_KIND_DEVICE",
        3: "CUDA_MEMOPR_MEMORY_KIND_ARRAY",
        4: "CUDA_MEMOPR_MEMORY_KIND_MANAGED",
        5: "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC",
        6: "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC",
        7: "CUDA_MEMOPR_MEMORY_KIND_UNKNOWN",
    },
    "ENUM_CUPTI_SYNC_TYPE": {
        1: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE",
        2: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT",
        3: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE",
        4: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE",
    },
    "ENUM_CUPTI_OVERHEAD_TYPE": {
        1: "OVERHEAD_UNKNOWN",
        2: "OVERHEAD_DRIVER_COMPILER",
        3: "OVERHEAD_CUPTI_BUFFER_FLUSH",
        6: "OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING",
        7: "OVERHEAD_LAZY_FUNCTION_LOADING",
        8: "OVERHEAD_COMMAND_BUFFER_FULL",
    },
    "ENUM_NSYS_EVENT_TYPE": {59: "NvtxPushPopRange", 60: "NvtxStartEndRange", 75: "NvtxDomainCreate"},
    "ENUM_GPU_CTX_SWITCH": {7: "SAVE_END", 8: "RESTORE_START", 9: "CONTEXT_START"},
}


def global_pid(pid: int, vm: int = 1) -> int:
    """Serialized id of a process, as SQLite holds it: signed."""
    value = (vm << 48) | (pid << 24)
    return value - (1 << 64) if value >= 1 << 63 else value


def global_tid(pid: int, tid: int, vm: int = 1) -> int:
    """Serialized id of a thread."""
    return global_pid(pid, vm) | tid


class ExportBuilder:
    """Collects rows and writes them as one synthetic export. Columns that a row leaves out are NULL."""

    def __init__(self, version: str = "2023.4", *, capture: Mapping[str, str] | None = None) -> None:
        self.version = version
        self.columns = {name: columns.split() for name, columns in SCHEMAS[version].items()}
        self.rows: dict[str, list[dict[str, Any]]] = {"StringIds": []}
        self._texts: dict[str, int] = {}
        self._describe(capture or {})

    def text(self, value: str) -> int:
        """Id of a registered string."""
        if value not in self._texts:
            self._texts[value] = len(self._texts) + 1
            self.add("StringIds", id=self._texts[value], value=value)
        return self._texts[value]

    def add(self, table: str, **row: Any) -> ExportBuilder:
        """One row; columns that this exporter generation lacks are left out."""
        self.rows.setdefault(table, []).append(row)
        return self

    def empty(self, table: str) -> ExportBuilder:
        """The table without rows."""
        self.rows.setdefault(table, [])
        return self

    def kernel(self, start: int, end: int, name: str = "k", pid: int = 100, **row: Any) -> ExportBuilder:
        """A kernel on device 0, context 1, stream 7."""
        text = self.text(name)
        base = {
            "deviceId": 0,
            "contextId": 1,
            "streamId": 7,
            "correlationId": None,
            "globalPid": global_pid(pid),
            "shortName": text,
            "demangledName": text,
            "gridX": 2,
            "gridY": 3,
            "gridZ": 4,
            "blockX": 64,
            "blockY": 1,
            "blockZ": 1,
            "registersPerThread": 32,
            "staticSharedMemory": 16,
            "dynamicSharedMemory": 1024,
            "localMemoryPerThread": 0,
        }
        return self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, **{**base, **row})

    def copy(self, start: int, end: int, kind: int = 1, pid: int = 100, **row: Any) -> ExportBuilder:
        """A pageable host-to-device copy."""
        base = {
            "deviceId": 0,
            "contextId": 1,
            "streamId": 7,
            "globalPid": global_pid(pid),
            "bytes": 4096,
            "copyKind": kind,
            "srcKind": 0,
            "dstKind": 2,
        }
        return self.add("CUPTI_ACTIVITY_KIND_MEMCPY", start=start, end=end, **{**base, **row})

    def call(self, start: int, end: int, name: str, pid: int = 100, tid: int = 5, **row: Any) -> ExportBuilder:
        """A CUDA call."""
        base = {"eventClass": 0, "globalTid": global_tid(pid, tid), "nameId": self.text(name), "returnValue": 0}
        return self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, **{**base, **row})

    def range(self, start: int, end: int | None, text: str | None = None, **row: Any) -> ExportBuilder:
        """A push/pop range of thread 5 of process 100."""
        base = {"eventType": 59, "globalTid": global_tid(100, 5), "text": text, "domainId": 0}
        return self.add("NVTX_EVENTS", start=start, end=end, **{**base, **row})

    def enum(self, table: str, symbols: Mapping[int, str]) -> ExportBuilder:
        """Replace the contents of an ENUM table."""
        self.rows[table] = [{"id": number, "name": symbol, "label": symbol} for number, symbol in symbols.items()]
        return self

    def write(self, path: Path) -> Path:
        """The export as a SQLite file; tables without rows that nobody asked for are absent, as in lazy exports."""
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as connection:
            for table, rows in self.rows.items():
                columns = self.columns[table]
                names = [column.rstrip(":") for column in columns]
                declared = ", ".join(f'"{c.rstrip(":")}" {"TEXT" if c.endswith(":") else "INTEGER"}' for c in columns)
                connection.execute(f'CREATE TABLE "{table}" ({declared})')
                marks = ",".join("?" * len(names))
                values = [[row.get(name) for name in names] for row in rows]
                connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', values)  # noqa: S608
        connection.close()
        return path

    def _describe(self, capture: Mapping[str, str]) -> None:
        if self.version in SCHEMA_VERSION:
            table = "EXPORT_META_DATA" if "EXPORT_META_DATA" in self.columns else "META_DATA_EXPORT"
            for name, value in (
                ("EXPORT_PRODUCT_VERSION", f"{self.version}.1.1"),
                ("EXPORT_SCHEMA_VERSION", SCHEMA_VERSION[self.version]),
            ):
                self.add(table, name=name, value=value)
        if "META_DATA_CAPTURE" in self.columns and capture:
            for name, value in capture.items():
                self.add("META_DATA_CAPTURE", name=name.partition("#")[0], value=value)
        for table, symbols in ENUMS.items():
            if table in self.columns:
                self.enum(table, symbols)


CUDA_AND_NVTX = {
    "CAPTURE_EVENT_TYPE#1": "Cuda",
    "CAPTURE_EVENT_TYPE#2": "NvtxEvents",
    "COLLECT_GPU_MEMORY_USAGE": "false",
}
"""META_DATA_CAPTURE of `--trace=cuda,nvtx`; what follows # only tells equal names apart."""


def opened(build: ExportBuilder, folder: Path) -> Trace:
    """The export, written and read back without any cache."""
    return open_trace(build.write(folder / "built.sqlite"), FRESH)


def collected(trace: Trace, kind: type[T]) -> T:
    """A table that must have been collected."""
    found = trace.table(kind)
    assert found is not None, f"{kind.__name__} was not collected"
    return found


def notes(trace: Trace) -> dict[str, str]:
    """Messages of the notes by id."""
    return {note.id: note.message for note in trace.capture.notes}
