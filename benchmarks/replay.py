"""Processor time of the dependency model and of one replay, and how it grows with the number of operations.

    python benchmarks/replay.py [OPERATIONS]

The trace is made in memory: four streams, an event-free host that launches eagerly and synchronizes every thousand
operations. Growth is the ratio of the times of the full size to those of a quarter of it; linear is 4.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from stallscope.model.analysis import Source
from stallscope.model.columns import Table
from stallscope.model.events import ApiCalls, Kernels
from stallscope.model.names import Names
from stallscope.model.trace import CaptureInfo, Device, Process, Thread, Trace
from stallscope.timeline.dependencies import dependency_graph
from stallscope.timeline.replay import replay
from stallscope.timeline.timeline import Timeline

PERIOD_NS = 6_000
SYNC_EVERY = 1_000
STREAMS = 4


def made(operations: int, seed: int = 1) -> Trace:
    """A trace of that many kernels whose times follow from launch, stream order and the synchronizations."""
    rng = np.random.default_rng(seed)
    launched = np.arange(operations, dtype=np.int64) * PERIOD_NS
    duration = rng.integers(2_000, 9_000 * STREAMS // 2, operations)
    stream = rng.integers(0, STREAMS, operations)
    start, sync = np.empty(operations, np.int64), []
    ready, shift = np.zeros(STREAMS, np.int64), 0
    for k in range(operations):
        start[k] = max(launched[k] + shift + 5_000, ready[stream[k]] + 1_000)
        ready[stream[k]] = start[k] + duration[k]
        if (k + 1) % SYNC_EVERY == 0:
            begin = int(launched[k]) + shift + 4_000
            end = max(begin + 2_000, int(ready.max()) + 3_000)
            sync.append((begin, end))
            shift += end - begin
    shifts = np.concatenate(([0], np.cumsum([end - begin for begin, end in sync])))
    called = launched + shifts[np.arange(operations) // SYNC_EVERY]
    return _trace(called, (start, start + duration, stream), np.array(sync, np.int64).reshape(-1, 2))


def _trace(called: np.ndarray, kernels: tuple[np.ndarray, ...], sync: np.ndarray) -> Trace:  # type: ignore[type-arg]
    count, waits = len(called), len(sync)
    zeros, ones = np.zeros(count, np.int64), np.ones(count, np.int64)
    order = np.argsort(np.concatenate((called, sync[:, 0])), kind="stable")
    calls = {
        "start_ns": np.concatenate((called, sync[:, 0])),
        "end_ns": np.concatenate((called + 4_000, sync[:, 1])),
        "process": np.zeros(count + waits),
        "thread": np.zeros(count + waits),
        "correlation": np.arange(1, count + waits + 1),
        "name": np.concatenate((ones, 2 * np.ones(waits, np.int64))),
        "result": np.zeros(count + waits),
    }
    table = {
        "start_ns": kernels[0], "end_ns": kernels[1], "device": zeros, "process": zeros, "context": ones,
        "stream": 7 + kernels[2], "correlation": np.arange(1, count + 1), "name": 3 * ones, "full_name": 3 * ones,
        "grid_x": ones, "grid_y": ones, "grid_z": ones, "block_x": ones, "block_y": ones, "block_z": ones,
        "registers": zeros, "shared_bytes": zeros, "local_bytes": zeros, "graph_node": zeros,
    }  # fmt: skip
    by_start = np.argsort(kernels[0], kind="stable")
    tables: dict[type[Table], Table] = {
        ApiCalls: ApiCalls.of(**{name: column[order] for name, column in calls.items()}),
        Kernels: Kernels.of(**{name: column[by_start] for name, column in table.items()}),
    }
    return Trace(
        source=Source(name="made", sha256="", format="memory"),
        devices=(Device("GPU 0", "", "made"),),
        processes=(Process(1),),
        threads=(Thread(0, 1),),
        names=Names(("", "cudaLaunchKernel", "cudaDeviceSynchronize", "kernel")),
        capture=CaptureInfo(),
        tables=tables,
    )


def measure(operations: int) -> tuple[float, float, float]:
    """Processor seconds for the model and for one replay, and the replay's relative miss of the made times."""
    timeline = Timeline(made(operations))
    _ = timeline.launch
    begin = time.process_time()
    graph = dependency_graph(timeline)
    built = time.process_time()
    ends = replay(graph)
    done = time.process_time()
    measured = int(graph.measured_end_ns.max())
    return built - begin, done - built, abs(int(ends.max()) - measured) / measured


def main() -> None:
    """Print both sizes and the growth between them."""
    operations = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rows = [(size, *measure(size)) for size in (operations // 4, operations)]
    for size, built, replayed, miss in rows:
        print(f"{size:>10,} operations: model {built:6.2f} s, replay {replayed:6.2f} s, misses {miss:.2%}")
    growth = [rows[1][column] / rows[0][column] for column in (1, 2)]
    print(f"growth for 4x the operations: model {growth[0]:.1f}x, replay {growth[1]:.1f}x")


if __name__ == "__main__":
    main()
