"""Everything that occupied a device, as one table."""

from __future__ import annotations

from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Column
from stallscope.model.events import Copies, DeviceSpan, GraphRuns, Kernels, Memsets
from stallscope.model.names import Names
from stallscope.model.trace import Trace
from stallscope.timeline.grouping import grouped_order
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.rows import RowArray, picked

# Kernels whose job is to move data between GPUs. nccl* as in NVIDIA's own recipes; the rest are the communication
# kernels of NVSHMEM, DeepEP, torch symmetric memory, vLLM / TensorRT-LLM / FlashInfer custom all-reduce and RCCL.
COMMUNICATION = (
    r"(?i)^(void )?(nccl|rccl|ncclSymk|nvshmem|deep_ep|msccl)|ncclDevKernel|ncclKernel|deep_ep::"
    r"|cross_device_reduce|allreduce_fusion|custom_all_?reduce|(one|two)_shot_all_?reduce|multimem_all_reduce"
)


class OperationKind(IntEnum):
    """What an operation is to the ledger."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    MEMSET = 3
    GRAPH = 4


class Operations(DeviceSpan):
    """Kernels, copies, memsets and whole graph runs, sorted by (device, start)."""

    kind = Column(np.int8, "OperationKind")
    row = Column(np.int32, "row in the table the operation comes from (Kernels, Copies, Memsets, GraphRuns)")
    name = Column(np.int32, "kernel name; 0 for other operations")


_Tables = list[tuple[DeviceSpan, OperationKind]]


def operations(trace: Trace) -> Operations:
    """Merge the tables that occupy a device; unified-memory migrations are not among them."""
    tables: _Tables = []
    for table, kind in (
        (Kernels, OperationKind.COMPUTE),
        (Copies, OperationKind.COPY),
        (Memsets, OperationKind.MEMSET),
        (GraphRuns, OperationKind.GRAPH),
    ):
        found: DeviceSpan | None = trace.table(table)
        if found is not None and len(found):
            tables.append((found, kind))
    if not tables:
        return Operations.empty()
    order = grouped_order(*(_joined(tables, name) for name in ("device", "start_ns", "end_ns")))
    starts = _ordered(tables, order, "start_ns")
    order = _untied(tables, order, starts)  # among equal starts: they stay as they are
    always = {"start_ns": starts, **{name: _ordered(tables, order, name) for name in ("end_ns", "device", "process")}}
    for name, column in always.items():
        _take_over(tables, order, name, column)
    seldom = {name: partial(_ordered, tables, order, name) for name in DeviceSpan.COLUMNS.keys() - always.keys()}
    return Operations.lazily(
        len(order),
        **always,
        **seldom,
        kind=lambda: picked(np.concatenate([_kinds(trace.names, *table) for table in tables]), order),
        row=lambda: picked(np.concatenate([np.arange(len(table), dtype=np.int32) for table, _ in tables]), order),
        name=lambda: picked(np.concatenate([_names(table) for table, _ in tables]), order),
    )


def _untied(tables: _Tables, order: RowArray, starts: Int64Array) -> RowArray:
    """Operations of one device and the same times go by process and launch: files promise no order of rows."""
    same = starts[1:] == starts[:-1]
    if not same.any():
        return order
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = order[tied]
    settled: RowArray = order.copy()
    keys = [_picked(tables, rows, name) for name in ("correlation", "process", "end_ns", "start_ns", "device")]
    settled[tied] = rows[np.lexsort(keys)]
    return settled


def _picked(tables: _Tables, rows: RowArray, name: str) -> npt.NDArray[Any]:
    """`_joined(tables, name)[rows]`, for few rows."""
    found, first = np.empty(len(rows), DeviceSpan.COLUMNS[name].dtype), 0
    for table, _ in tables:
        mine = np.flatnonzero((rows >= first) & (rows < first + len(table)))
        found[mine] = table.read(name)[rows[mine] - first]
        first += len(table)
    return found


def _ordered(tables: _Tables, order: RowArray, name: str) -> npt.NDArray[Any]:
    return picked(_joined(tables, name), order)


def _take_over(tables: _Tables, order: RowArray, name: str, column: npt.NDArray[Any]) -> None:
    """The tables need not keep the column as well: it is the operations that are asked, so it is made from theirs."""
    first = 0
    for table, _ in tables:
        table.replace_by(name, partial(_given_back, order, first, len(table), column))
        first += len(table)


def _given_back(order: RowArray, first: int, length: int, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    mine = np.flatnonzero((order >= first) & (order < first + length))
    found = np.empty(length, column.dtype)
    found[order[mine] - first] = column[mine]
    return found


def _joined(tables: _Tables, name: str) -> npt.NDArray[Any]:
    arrays = [table.read(name) for table, _ in tables]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _names(table: DeviceSpan) -> npt.NDArray[np.int32]:
    return table.name if isinstance(table, Kernels) else np.zeros(len(table), np.int32)


def _kinds(names: Names, table: DeviceSpan, kind: OperationKind) -> npt.NDArray[np.int8]:
    if isinstance(table, Kernels):
        communicates = communication(names)
        of_name = np.where(communicates, OperationKind.COMMUNICATION, OperationKind.COMPUTE).astype(np.int8)
        return picked(of_name, table.name)
    return np.full(len(table), kind, np.int8)


def communication(names: Names) -> npt.NDArray[np.bool_]:
    """Which distinct kernel names are communication."""
    return names.matching(COMMUNICATION)
