"""Whole, well-formed exports of up to 10 MB in which one thing is extreme: ids, names, nesting, overlap."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlite_build import CUDA_AND_NVTX, ExportBuilder, global_pid, global_tid

Rows = Iterable[tuple[Any, ...]]
KERNEL = "start end deviceId contextId streamId correlationId globalPid shortName demangledName"
CALL = "start end globalTid correlationId nameId"
RANGE = "start end eventType globalTid text"
PID = global_pid(100)
TID = global_tid(100, 5)
STEP = 1000


def base() -> ExportBuilder:
    """Two kernels with their calls, so that every table has its columns."""
    build = ExportBuilder(capture=CUDA_AND_NVTX)
    build.call(1, 5, "cudaLaunchKernel_v7000", correlationId=1).kernel(10, 20, correlationId=1)
    build.call(30, 50, "cudaMemcpyAsync_v3020").call(51, 52, "cudaDeviceSynchronize_v3020")
    build.call(53, 54, "cudaFree_v3020").copy(60, 80).range(1, 100, "step")
    return build.empty("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")


def write(path: Path, tables: dict[str, tuple[str, Rows]]) -> Path:
    """The base with many more rows: {table: (columns, rows)}."""
    base().write(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous=OFF")
        database.execute("BEGIN")
        for table, (columns, rows) in tables.items():
            names = ", ".join(f'"{name}"' for name in columns.split())
            marks = ", ".join("?" * len(columns.split()))
            database.executemany(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', rows)  # noqa: S608
        database.execute("COMMIT")
    return path


def kernels(count: int, **change: Callable[[int], int]) -> dict[str, tuple[str, Rows]]:
    """Kernels one after the other with their launches; `change` gives columns as functions of the row."""
    plain: dict[str, Callable[[int], int]] = {
        "start": lambda i: STEP * i + 100,
        "end": lambda i: STEP * i + 700,
        "deviceId": lambda _: 0,
        "contextId": lambda _: 1,
        "streamId": lambda _: 7,
        "correlationId": lambda i: i + 10,
        "globalPid": lambda _: PID,
        "shortName": lambda _: 2,
        "demangledName": lambda _: 2,
    }
    device = {**plain, **{name: by for name, by in change.items() if name in plain}}
    thread = change.get("globalTid", lambda _: TID)
    rows = [tuple(device[name](i) for name in KERNEL.split()) for i in range(count)]
    calls = [(STEP * i + 1, STEP * i + 60, thread(i), device["correlationId"](i), 1) for i in range(count)]
    return {"CUPTI_ACTIVITY_KIND_KERNEL": (KERNEL, rows), "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, calls)}


def ranges(
    count: int, span: Callable[[int], tuple[int, int | None]], text: Callable[[int], str]
) -> dict[str, tuple[str, Rows]]:
    """Push/pop ranges of one thread."""
    return {"NVTX_EVENTS": (RANGE, [(*span(i), 59, TID, text(i)) for i in range(count)])}


def _nested(i: int) -> tuple[int, int]:
    return i + 1, 50_000_000 - i


def _after_another(i: int) -> tuple[int, int]:
    return STEP * i + 1, STEP * i + 900


CASES: dict[str, Callable[[], dict[str, tuple[str, Rows]]]] = {
    "plain": lambda: kernels(60_000),
    "a process a kernel": lambda: kernels(12_000, globalPid=lambda i: global_pid(i + 1)),
    "a process and a thread a kernel": lambda: kernels(
        12_000, globalPid=lambda i: global_pid(i + 1), globalTid=lambda i: global_tid(i + 1, 7)
    ),
    "a thread a call": lambda: kernels(60_000, globalTid=lambda i: global_tid(100, i + 1)),
    "64 devices": lambda: kernels(60_000, deviceId=lambda i: i % 64),
    "a device a kernel": lambda: kernels(60_000, deviceId=lambda i: i),
    "a stream a kernel": lambda: kernels(60_000, streamId=lambda i: i),
    "a context a kernel": lambda: kernels(60_000, contextId=lambda i: i),
    "one correlation for all": lambda: kernels(60_000, correlationId=lambda _: 5),
    "kernels that all overlap": lambda: kernels(60_000, start=lambda i: i + 1, end=lambda i: 90_000_000 - i),
    "kernels that all overlap on a stream each": lambda: kernels(
        60_000, start=lambda i: i + 1, end=lambda i: 90_000_000 - i, streamId=lambda i: i
    ),
    "kernels without length": lambda: kernels(60_000, end=lambda i: STEP * i + 100),
    "a name a kernel": lambda: kernels(60_000, shortName=lambda i: i, demangledName=lambda i: i),
    "deeply nested ranges": lambda: {**kernels(20_000), **ranges(120_000, _nested, lambda _: "deep")},
    "deeply nested ranges of different names": lambda: {**kernels(5_000), **ranges(90_000, _nested, lambda i: f"n{i}")},
    "a name a range": lambda: {**kernels(20_000), **ranges(90_000, _after_another, lambda i: f"iteration {i}")},
    "ranges never closed": lambda: {
        **kernels(20_000),
        **ranges(90_000, lambda i: (STEP * i + 1, None), lambda i: f"n{i % 9}"),
    },
    "ranges that cross": lambda: {
        **kernels(20_000),
        **ranges(90_000, lambda i: (i * 10 + 1, i * 10 + 40_000_000), lambda i: f"n{i % 9}"),
    },
    "long texts": lambda: {**kernels(1_000), **ranges(60, _after_another, lambda i: f"{i}" * 60_000)},
    "nested calls": lambda: {
        **kernels(20_000),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, [(i + 1, 90_000_000 - i, TID, i, 1) for i in range(120_000)]),
    },
    "calls that cross": lambda: {
        **kernels(20_000),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, [(i * 9, i * 9 + 9_000_000, TID, i, 1) for i in range(120_000)]),
    },
    "waits for the device among many streams": lambda: {
        **kernels(30_000, streamId=lambda i: i % 2_000),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, [(i * 300, i * 300 + 200, TID, i, 4) for i in range(60_000)]),
    },
    "allocations among many streams": lambda: {
        **kernels(30_000, streamId=lambda i: i % 2_000),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, [(i * 300, i * 300 + 200, TID, i, 5) for i in range(60_000)]),
    },
    "copies": lambda: {
        "CUPTI_ACTIVITY_KIND_MEMCPY": (
            "start end deviceId contextId streamId correlationId globalPid bytes copyKind srcKind dstKind",
            [(STEP * i, STEP * i + 999, 0, 1, i % 9, i, PID, 4, 2, 2, 0) for i in range(60_000)],
        ),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (CALL, [(STEP * i, STEP * i + 900, TID, i, 3) for i in range(60_000)]),
    },
    "synchronizations": lambda: {
        **kernels(20_000),
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
            "start end deviceId contextId streamId correlationId globalPid syncType eventId",
            [(STEP * i, STEP * i + 999, 0, 1, i % 99, i, PID, i % 5, i) for i in range(60_000)],
        ),
    },
}
