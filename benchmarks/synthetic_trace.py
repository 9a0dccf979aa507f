"""A large Nsight Systems export, seeded: a bundled real one emptied of its events and filled with a simulated job.

    python benchmarks/synthetic_trace.py OUT.sqlite KERNELS [CALLS_A_KERNEL] [SEED]

Four processes with one GPU each; launches from two threads, two streams, CUDA-graph replays (50 kernels share one
launch), a pageable copy and a blocking sync a step, data-loader stalls, nested NVTX ranges. Correlation ids collide
between the processes on purpose. The tables and their DDL are the exporter's own (schema 3.7.2), without indices.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt

BASE = Path(__file__).resolve().parent.parent / "sample_traces" / "h200" / "py_gpt_train.sqlite"
Int64 = npt.NDArray[np.int64]

PROCESSES = 4
LAYER, STEP, GRAPH = 30, 600, 50
NAMES = 180
BETWEEN, COPY = 900, 22_000  # ns between two kernels of a stream; of the copy after a step
STREAM_SYNC = 3  # ENUM_CUPTI_SYNC_TYPE
PAGEABLE_TO_DEVICE = {"copyKind": 1, "srcKind": 0, "dstKind": 2}  # ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND
EVENTS = ("KERNEL", "RUNTIME", "MEMCPY", "SYNCHRONIZATION", "MEMSET")
CALLS = ("cudaLaunchKernel_v7000", "cudaStreamIsCapturing_v10000", "cudaEventQuery_v3020", "cudaEventRecord_v3020")
BLOCKING = ("cudaStreamSynchronize_v3020", "cudaMemcpyAsync_v3020", "cudaGraphLaunch_v10000")


def insert(db: sqlite3.Connection, table: str, columns: dict[str, Int64 | int]) -> None:
    """Append rows given as columns; other columns stay at 0 where the DDL wants a value, else null."""
    rows = max(len(c) for c in columns.values() if isinstance(c, np.ndarray))
    required = [r[1] for r in db.execute(f"PRAGMA table_info({table})") if r[3] and r[1] not in columns]
    full = {**columns, **dict.fromkeys(required, 0)}
    # int(): sqlite3 would bind numpy's own integers as blobs
    values = [c.tolist() if isinstance(c, np.ndarray) else [int(c)] * rows for c in full.values()]
    names, marks = ", ".join(f'"{n}"' for n in full), ", ".join("?" * len(full))
    db.executemany(f"INSERT INTO {table} ({names}) VALUES ({marks})", zip(*values, strict=True))  # noqa: S608


class Strings:
    """Texts added to StringIds."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._next = db.execute("SELECT max(id) FROM StringIds").fetchone()[0] + 1

    def __call__(self, *texts: str) -> Int64:
        """Ids of new texts."""
        ids = np.arange(self._next, self._next + len(texts))
        self._db.executemany("INSERT INTO StringIds VALUES (?, ?)", zip(ids.tolist(), texts, strict=True))
        self._next += len(texts)
        return ids


def schedule(begin: int, pause: Int64, length: Int64) -> tuple[Int64, Int64, Int64]:
    """When kernels are launched and start, and when the host has waited for the work of each step (then it copies).

    A kernel starts when it is launched and the stream is free: its start is the work before it added to the running
    maximum of (launch - work before it).
    """
    launched, start, waited = np.empty_like(length), np.empty_like(length), []
    now = begin
    for first in range(0, len(length), STEP):
        of = slice(first, first + STEP)
        launched[of] = now + np.cumsum(pause[of])
        before = np.cumsum(length[of] + BETWEEN) - (length[of] + BETWEEN)
        start[of] = np.maximum.accumulate(launched[of] + 1500 - before) + before
        waited.append(max(int(start[of][-1] + length[of][-1]), int(launched[of][-1]) + 200))
        now = waited[-1] + COPY
    return launched, start, np.array(waited)


def process(db: sqlite3.Connection, number: int, kernels: int, extra_calls: int, seed: int) -> None:
    """One process on one GPU: launches in steps of STEP kernels, every seventh step replayed as graphs."""
    rng = np.random.default_rng([seed, number])
    strings = Strings(db)
    pid = 4100 + 13 * number
    owner = (1 << 48) | (pid << 24)
    index = np.arange(kernels)
    step = index // STEP
    replayed = step % 7 == 6
    leads = ~replayed | (index % GRAPH == 0)  # the kernel that begins a launch: its own, or its graph's
    host = rng.lognormal(np.log(3500), 0.55, kernels).astype(np.int64) + 300
    host[index % STEP == 0] += rng.lognormal(np.log(3e5), 1.0, len(index[index % STEP == 0])).astype(np.int64)
    call = np.where(replayed, 55_000, rng.lognormal(np.log(3600), 0.35, kernels).astype(np.int64) + 900)
    pause = np.where(leads, host + call + 450 * extra_calls, 0)
    length = rng.lognormal(np.log(6000), 1.0, kernels).astype(np.int64) + 800
    name = rng.choice(NAMES, kernels, p=rng.dirichlet(np.full(NAMES, 0.35)))
    launched, start, waited = schedule(5_000_000_000 + 1_700_000 * number, pause, length)
    communicates = index % 61 == 60
    short = strings(*(f"kernel_{i}" for i in range(NAMES)), "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
    full = strings(
        *(f"void at::native::kernel_{i}<float, {i}>(int)" for i in range(NAMES)), "ncclDevKernel_AllReduce()"
    )
    name = np.where(communicates, NAMES, name)
    correlation = np.cumsum(leads)
    insert(
        db,
        "CUPTI_ACTIVITY_KIND_KERNEL",
        {
            "start": start,
            "end": start + length,
            "deviceId": number,
            "contextId": 1,
            "correlationId": correlation,
            "streamId": np.where(communicates, 20, 7),
            "globalPid": owner,
            "shortName": short[name],
            "demangledName": full[name],
            "registersPerThread": 64,
            "gridX": 1 + name * 7,
            "gridY": 1,
            "gridZ": 1,
            "blockX": 256,
            "blockY": 1,
            "blockZ": 1,
            "graphNodeId": np.where(replayed, 1 + index % GRAPH, 0),
        },
    )
    at, took = launched[leads], call[leads]
    thread = owner + pid + np.where(step[leads] % 2 == 0, 0, 57)
    names = strings(*CALLS, *BLOCKING)
    launch = {"start": at - took, "end": at, "globalTid": thread, "correlationId": correlation[leads]}
    insert(db, "CUPTI_ACTIVITY_KIND_RUNTIME", {**launch, "nameId": np.where(replayed[leads], names[6], names[0])})
    for extra in range(extra_calls):
        before = at - took - 450 * (extra + 1)
        other = {"start": before, "end": before + 300, "globalTid": thread}
        insert(db, "CUPTI_ACTIVITY_KIND_RUNTIME", {**other, "nameId": names[1 + extra % 3], "correlationId": 0})
    last = np.append(np.flatnonzero(np.diff(step)), kernels - 1)
    waiting = {"start": launched[last] + 100, "end": waited, "correlationId": kernels + 1 + 2 * step[last]}
    insert(db, "CUPTI_ACTIVITY_KIND_RUNTIME", {**waiting, "globalTid": owner + pid, "nameId": names[4]})
    where = {"deviceId": number, "contextId": 1, "streamId": 7, "globalPid": owner}
    insert(db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {**waiting, **where, "syncType": STREAM_SYNC})
    copying = {"start": waited + 2_000, "end": waited + COPY - 1_000, "correlationId": kernels + 2 + 2 * step[last]}
    insert(db, "CUPTI_ACTIVITY_KIND_RUNTIME", {**copying, "globalTid": owner + pid, "nameId": names[5]})
    at_gpu = {"start": copying["start"] + 12_000, "end": copying["end"] - 1_000}
    copied = {**at_gpu, "correlationId": copying["correlationId"], "bytes": 1 << 16}
    insert(db, "CUPTI_ACTIVITY_KIND_MEMCPY", {**copied, **where, **PAGEABLE_TO_DEVICE})
    ranges(db, strings("step", *(f"layer.{i}" for i in range(LAYER))), launched, owner + pid)


def ranges(db: sqlite3.Connection, names: Int64, launched: Int64, thread: int) -> None:
    """A step range around STEP launches and a layer range around every LAYER of them."""
    for size, text in ((STEP, lambda i: np.full(len(i), names[0])), (LAYER, lambda i: names[1 + i % LAYER])):
        edges = np.arange(0, len(launched), size)
        ends = launched[np.minimum(edges + size, len(launched)) - 1]
        span = {"start": launched[edges] - (60 if size == STEP else 30), "end": ends + (60 if size == STEP else 30)}
        insert(db, "NVTX_EVENTS", {**span, "eventType": 59, "globalTid": thread, "textId": text(np.arange(len(edges)))})


def make(path: Path, kernels: int, calls_a_kernel: int = 3, seed: int = 1) -> None:
    """Write the export."""
    shutil.copyfile(BASE, path)
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
        for table in (*(f"CUPTI_ACTIVITY_KIND_{name}" for name in EVENTS), "NVTX_EVENTS", "PROFILER_OVERHEAD"):
            db.execute(f"DELETE FROM {table}")  # noqa: S608
        gpu = db.execute("SELECT * FROM TARGET_INFO_GPU").fetchone()
        columns = [r[1] for r in db.execute("PRAGMA table_info(TARGET_INFO_GPU)")]
        for number in range(1, PROCESSES):
            other = dict(zip(columns, gpu, strict=True))
            other.update(id=number, cuDevice=number, uuid=f"synthetic-{number}", busLocation=f"0000:00:0{number}.0")
            db.execute(f"INSERT INTO TARGET_INFO_GPU VALUES ({', '.join('?' * len(gpu))})", list(other.values()))  # noqa: S608
        for number in range(PROCESSES):
            process(db, number, kernels // PROCESSES, calls_a_kernel - 1, seed)
        db.commit()


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), *map(int, sys.argv[3:5]))
