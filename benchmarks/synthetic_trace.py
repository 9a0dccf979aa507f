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
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

BASE = Path(__file__).resolve().parent.parent / "sample_traces" / "h200" / "py_gpt_train.sqlite"
Int64 = npt.NDArray[np.int64]
Columns = dict[str, "Int64 | int"]

PROCESSES = 4
ROWS_AT_ONCE = 500_000
PAGE_BYTES = 4096  # of nsys; the bundled captures have smaller ones
LAYER, STEP, GRAPH = 30, 600, 50
NAMES = 180
BETWEEN, COPY = 900, 22_000  # ns between two kernels of a stream; of the copy after a step
STREAM_SYNC = 3  # ENUM_CUPTI_SYNC_TYPE
SHAPE = {"gridY": 1, "gridZ": 1, "blockX": 256, "blockY": 1, "blockZ": 1, "registersPerThread": 64}
PAGEABLE_TO_DEVICE = {"copyKind": 1, "srcKind": 0, "dstKind": 2}  # ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND
EVENTS = ("KERNEL", "RUNTIME", "MEMCPY", "SYNCHRONIZATION", "MEMSET")
CALLS = ("cudaLaunchKernel_v7000", "cudaStreamIsCapturing_v10000", "cudaEventQuery_v3020", "cudaEventRecord_v3020")
BLOCKING = ("cudaStreamSynchronize_v3020", "cudaMemcpyAsync_v3020", "cudaGraphLaunch_v10000")


def insert(db: sqlite3.Connection, table: str, parts: list[Columns]) -> None:
    """Append the rows of all parts in the order of their starts; a column that a part or all of them lack is 0.

    Columns that the DDL does not ask for and no part has stay null.
    """
    required = [r[1] for r in db.execute(f"PRAGMA table_info({table})") if r[3] and r[1] not in parts[0]]
    names = [*dict.fromkeys(name for part in parts for name in part), *required]
    columns = [np.concatenate([np.broadcast_to(p.get(name, 0), len(p["start"])) for p in parts]) for name in names]
    order = np.argsort(columns[names.index("start")], kind="stable")
    quoted, marks = ", ".join(f'"{n}"' for n in names), ", ".join("?" * len(names))
    for some in np.array_split(order, len(order) // ROWS_AT_ONCE + 1):
        rows = zip(*(column[some].tolist() for column in columns), strict=True)
        db.executemany(f"INSERT INTO {table} ({quoted}) VALUES ({marks})", rows)  # noqa: S608


class Strings:
    """Texts added to StringIds."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._next = db.execute("SELECT max(id) FROM StringIds").fetchone()[0] + 1
        self._short = self._added(*(f"kernel_{i}" for i in range(NAMES)), "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
        full = (f"void at::native::kernel_{i}<float, {i}>(int)" for i in range(NAMES))
        self._full = self._added(*full, "ncclDevKernel_AllReduce()")
        self.calls = self._added(*CALLS, *BLOCKING)
        self.ranges = self._added("step", *(f"layer.{i}" for i in range(LAYER)))

    def kernels(self, number: Int64) -> Columns:
        """Both names of kernels; number NAMES is the collective."""
        return {"shortName": self._short[number], "demangledName": self._full[number]}

    def _added(self, *texts: str) -> Int64:
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


def process(strings: Strings, number: int, kernels: int, extra_calls: int, seed: int) -> dict[str, list[Columns]]:
    """One process on one GPU: launches in steps of STEP kernels, every seventh step replayed as graphs."""
    rng = np.random.default_rng([seed, number])
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
    name = np.where(communicates, NAMES, name)
    correlation = np.cumsum(leads)
    where = {"deviceId": number, "contextId": 1, "globalPid": owner, "streamId": 7}
    work = {
        "start": start,
        "end": start + length,
        **where,
        "streamId": np.where(communicates, 20, 7),
        "correlationId": correlation,
        **strings.kernels(name),
        **SHAPE,
        "gridX": 1 + name * 7,
        "graphNodeId": np.where(replayed, 1 + index % GRAPH, 0),
    }
    last = np.append(np.flatnonzero(np.diff(step)), kernels - 1)
    waiting = {"start": launched[last] + 100, "end": waited, "correlationId": kernels + 1 + 2 * step[last]}
    copying = {"start": waited + 2_000, "end": waited + COPY - 1_000, "correlationId": kernels + 2 + 2 * step[last]}
    copied = {**copying, "start": waited + 14_000, "end": waited + COPY - 2_000}
    names = strings.calls
    at, took = launched[leads], call[leads]
    thread = owner + pid + np.where(step[leads] % 2 == 0, 0, 57)
    launch = {"start": at - took, "end": at, "globalTid": thread, "correlationId": correlation[leads]}
    calls: list[Columns] = [{**launch, "nameId": np.where(replayed[leads], names[6], names[0])}]
    for extra in range(extra_calls):
        before = at - took - 450 * (extra + 1)
        calls.append({"start": before, "end": before + 300, "globalTid": thread, "nameId": names[1 + extra % 3]})
    calls.append({**waiting, "globalTid": owner + pid, "nameId": names[4]})
    calls.append({**copying, "globalTid": owner + pid, "nameId": names[5]})
    return {
        "CUPTI_ACTIVITY_KIND_KERNEL": [work],
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "CUPTI_ACTIVITY_KIND_MEMCPY": [{**copied, **where, "bytes": 1 << 16, **PAGEABLE_TO_DEVICE}],
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [{**waiting, **where, "syncType": STREAM_SYNC}],
        "NVTX_EVENTS": ranges(strings.ranges, launched, owner + pid),
    }


def ranges(names: Int64, launched: Int64, thread: int) -> list[Columns]:
    """A step range around STEP launches and a layer range around every LAYER of them."""
    found: list[Columns] = []
    step, layer = (lambda i: np.full(len(i), names[0])), (lambda i: names[1 + i % LAYER])
    for size, margin, text in ((STEP, 60, step), (LAYER, 30, layer)):
        edges = np.arange(0, len(launched), size)
        ends = launched[np.minimum(edges + size, len(launched)) - 1]
        span = {"start": launched[edges] - margin, "end": ends + margin}
        found.append({**span, "eventType": 59, "globalTid": thread, "textId": text(np.arange(len(edges)))})
    return found


def make(path: Path, kernels: int, calls_a_kernel: int = 3, seed: int = 1) -> None:
    """Write the export: as in real ones, calls are written process by process, everything else by its start."""
    shutil.copyfile(BASE, path)
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")
        for table in (*(f"CUPTI_ACTIVITY_KIND_{name}" for name in EVENTS), "NVTX_EVENTS", "PROFILER_OVERHEAD"):
            db.execute(f"DELETE FROM {table}")  # noqa: S608
        db.commit()
        db.executescript(f"PRAGMA page_size={PAGE_BYTES}; VACUUM")
        gpu = db.execute("SELECT * FROM TARGET_INFO_GPU").fetchone()
        columns = [r[1] for r in db.execute("PRAGMA table_info(TARGET_INFO_GPU)")]
        for number in range(1, PROCESSES):
            other = dict(zip(columns, gpu, strict=True))
            other.update(id=number, cuDevice=number, uuid=f"synthetic-{number}", busLocation=f"0000:00:0{number}.0")
            db.execute(f"INSERT INTO TARGET_INFO_GPU VALUES ({', '.join('?' * len(gpu))})", list(other.values()))  # noqa: S608
        strings = Strings(db)
        job = [process(strings, number, kernels // PROCESSES, calls_a_kernel - 1, seed) for number in range(PROCESSES)]
        for table in job[0]:
            parts = [one[table] for one in job]
            together = parts if table == "CUPTI_ACTIVITY_KIND_RUNTIME" else [list(chain.from_iterable(parts))]
            for rows in together:
                insert(db, table, rows)
        db.commit()


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), *map(int, sys.argv[3:5]))
