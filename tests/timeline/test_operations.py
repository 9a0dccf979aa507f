"""The table of everything that occupied a device: its order, its ties, and which call launched each row."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from build import US, TraceBuilder

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Copies, Kernels, Memsets
from stallscope.timeline.calls import HostCalls
from stallscope.timeline.launches import from_graph, launch_rows
from stallscope.timeline.operations import OperationKind, Operations
from stallscope.timeline.timeline import Timeline


def operations_of(build: TraceBuilder) -> Operations:
    return Timeline(build.trace()).operations


def test_all_tables_are_merged_by_device_and_start() -> None:
    build = TraceBuilder(devices=2)
    build.kernel(30, 40, name="gemm", correlation=1)
    build.kernel(10, 20, name="ncclDevKernel_AllReduce", correlation=2)
    build.copy(5, 15, device=1, correlation=3)
    build.copy(25, 28, correlation=4)
    build.memset(12, 13, device=1, correlation=5)
    found = operations_of(build)
    assert found.device.tolist() == [0, 0, 0, 1, 1]
    assert (found.start_ns // US).tolist() == [10, 25, 30, 5, 12]
    assert (found.end_ns // US).tolist() == [20, 28, 40, 15, 13]
    kinds = OperationKind
    assert found.kind.tolist() == [kinds.COMMUNICATION, kinds.COPY, kinds.COMPUTE, kinds.COPY, kinds.MEMSET]
    assert found.row.tolist() == [0, 1, 1, 0, 0]
    assert found.correlation.tolist() == [2, 4, 1, 3, 5]
    assert found.name.tolist() == [build.name("ncclDevKernel_AllReduce"), 0, build.name("gemm"), 0, 0]


Tied = tuple[str, int, float, int, int]
TIES: list[Tied] = [  # table, device, end, pid, correlation, in the order in which they must come out
    ("kernel", 0, 4, 2, 7),
    ("copy", 0, 5, 1, 4),
    ("kernel", 0, 5, 1, 8),
    ("memset", 0, 5, 2, 3),
    ("copy", 0, 9, 1, 1),
    ("kernel", 1, 3, 1, 2),
]


@pytest.mark.parametrize("order", [*permutations(range(6))][::31])
def test_equal_times_go_by_process_and_launch_whatever_the_order_of_the_file(order: tuple[int, ...]) -> None:
    """All but the first and the last start at 2 µs."""
    build = TraceBuilder(devices=2)
    build.process(1)
    build.kernel(1, 2)
    build.copy(7, 8)
    for table, device, end, pid, correlation in (TIES[k] for k in order):
        getattr(build, table)(2, end, device=device, pid=pid, correlation=correlation)
    found = operations_of(build)
    kinds = {OperationKind.COMPUTE: "kernel", OperationKind.COPY: "copy", OperationKind.MEMSET: "memset"}
    rows = zip(found.kind, found.device, found.end_ns // US, found.process + 1, found.correlation, strict=True)
    assert [(kinds[OperationKind(k)], *map(int, rest)) for k, *rest in rows] == [
        ("kernel", 0, 2, 1, 0), *TIES[:5], ("copy", 0, 8, 1, 0), TIES[5]
    ]  # fmt: skip


@pytest.mark.parametrize("pids", [(1, 2), (2, 1)])
def test_a_single_pair_of_equal_times_goes_by_process(pids: tuple[int, int]) -> None:
    build = TraceBuilder()
    build.process(1)
    build.kernel(2, 4, pid=pids[0])
    build.kernel(2, 4, pid=pids[1])
    build.copy(6, 8)
    found = operations_of(build)
    assert found.process.tolist() == [0, 1, 0]
    assert found.kind.tolist() == [OperationKind.COMPUTE, OperationKind.COMPUTE, OperationKind.COPY]


def test_without_operations_the_table_is_empty() -> None:
    assert len(operations_of(TraceBuilder().collected(Kernels))) == 0


def table(kind: type[Any], **columns: list[int]) -> Any:
    rows = len(next(iter(columns.values())))
    return kind.of(**{name: columns.get(name, np.zeros(rows)) for name in kind.COLUMNS})


@pytest.mark.parametrize("scale", [1, 1_000_000])
def test_each_operation_has_the_first_call_of_its_process_and_id(scale: int) -> None:
    """Close ids are looked up in a table, distant ones in a sorted list. Id 0 is none."""
    calls = table(HostCalls, process=[0, 0, 0, 1, 1, 0], correlation=[scale * c for c in (5, 9, 5, 5, 7, 0)])
    wanted = [(0, 5), (0, 9), (0, 7), (1, 5), (1, 7), (1, 9), (0, 0), (2, 5), (0, 4), (0, 10), (0, -1)]
    process, ids = zip(*wanted, strict=True)
    found = launch_rows(table(Operations, process=list(process), correlation=[scale * c for c in ids]), calls)
    assert found.tolist() == [0, 1, NO_ROW, 3, 4, *[NO_ROW] * 6]


def test_a_graph_launch_marks_all_its_operations() -> None:
    build = TraceBuilder()
    for correlation, name in enumerate(["cudaLaunchKernel", "cudaGraphLaunch", "cudaLaunchKernel"], start=1):
        build.call(name, 10 * correlation, 10 * correlation + 1, correlation=correlation)
    for start, correlation in ((50, 1), (60, 2), (70, 2), (80, 3), (90, 0)):
        build.kernel(start, start + 5, correlation=correlation)
    timeline = Timeline(build.trace())
    assert timeline.from_graph.tolist() == [False, True, True, False, False]
    assert timeline.launch.tolist() == [0, 1, 1, 2, NO_ROW]
    assert from_graph(HostCalls.empty(), np.zeros(2, np.int64)).tolist() == [False, False]


def test_tables_say_the_same_after_the_operations_took_their_columns_over() -> None:
    """Long columns are kept once: those of kernels, copies and memsets are made again from the operations."""
    build = TraceBuilder(devices=2)
    for k in range(6):
        build.kernel(10 * k, 10 * k + 8 - k, name="ab"[k % 2], device=k % 2, stream=7 + k % 3, blocks=1 + k // 2)
        build.copy(10 * k + 1, 10 * k + 3, device=1 - k % 2)
    build.memset(4, 5, device=1)
    trace, fresh = build.trace(), build.trace()
    timeline = Timeline(trace)
    assert len(timeline.operations) == 13
    assert timeline.kernel_shapes.first.tolist() == [0, 1, 2, 3, 4, 5]
    for kind in (Kernels, Copies, Memsets):
        table, before = trace.table(kind), fresh.table(kind)
        assert table is not None
        assert before is not None
        for name, column in kind.COLUMNS.items():
            assert table.array(name).tolist() == before.array(name).tolist(), name
            assert table.array(name).dtype == column.dtype


def test_the_stream_of_rows_is_told_by_the_order_of_streams() -> None:
    build = TraceBuilder()
    for k, stream in enumerate((7, 13, 7, 20)):
        build.kernel(10 * k, 10 * k + 5, stream=stream)
    order = Timeline(build.trace()).stream_order
    assert order.stream(np.arange(4)).tolist() == [7, 13, 7, 20]
    assert order.stream(np.array([False, True, False, True])).tolist() == [13, 20]
