"""Everything that occupied a device, as one table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Column
from stallscope.model.events import Copies, DeviceSpan, GraphRuns, Kernels, Memsets
from stallscope.model.names import Names
from stallscope.model.trace import Trace
from stallscope.timeline.grouping import grouped_order
from stallscope.timeline.intervals import Int64Array, is_one_of
from stallscope.timeline.rows import Reordered, RowArray, picked

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


KERNEL_KINDS = (OperationKind.COMPUTE, OperationKind.COMMUNICATION)

T = TypeVar("T", bound=np.generic)
_Tables = list[tuple[DeviceSpan, OperationKind]]
"""Tables and the kind of their operations; kernels may be of both of theirs."""


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
    always["name"] = picked(_concatenated([_names(table) for table, _ in tables]), order)
    kinds = picked(_concatenated([_kinds(trace.names, *table) for table in tables]), order)
    sources = _Sources(tables, kinds, _moved(tables, kinds, order, -1))
    for name, column in always.items():
        sources.hand_over(name, column)
    seldom = {name: partial(sources.collected, name) for name in DeviceSpan.COLUMNS.keys() - always.keys()}
    return Operations.lazily(len(order), **always, **seldom, kind=kinds, row=sources.row)


@dataclass(frozen=True, slots=True)
class _Sources:
    """The tables that operations come from; kind and row of an operation tell where it was found."""

    tables: _Tables
    kind: npt.NDArray[np.int8]
    row: RowArray

    def collected(self, name: str) -> npt.NDArray[Any]:
        """A column of the operations."""
        return _ordered(self.tables, _moved(self.tables, self.kind, self.row, 1), name)

    def hand_over(self, name: str, column: npt.NDArray[Any]) -> None:
        """The tables need not keep a column as well: it is the operations that are asked, so it is made from theirs."""
        for table, kind in self.tables:
            if name in table.COLUMNS:
                table.replace_by(name, partial(self._given_back, kind, column))

    def _given_back(self, kind: OperationKind, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        mine = np.flatnonzero(is_one_of(self.kind, KERNEL_KINDS if kind in KERNEL_KINDS else (kind,)))
        return Reordered(column.take(mine), self.row.take(mine))()


def _moved(tables: _Tables, kinds: npt.NDArray[np.int8], rows: RowArray, sign: int) -> RowArray:
    """Rows of the operations' tables as rows counted through all tables (sign 1), or back again (-1)."""
    moved, first = rows if len(tables) == 1 else rows.copy(), 0
    for table, kind in tables:
        if first:  # kernels, which have two kinds, are the first table
            moved[np.flatnonzero(kinds == kind)] += np.int32(sign * first)
        first += len(table)
    return moved


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


def _joined(tables: _Tables, name: str) -> npt.NDArray[Any]:
    return _concatenated([table.read(name) for table, _ in tables])


def _concatenated(parts: list[npt.NDArray[T]]) -> npt.NDArray[T]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _names(table: DeviceSpan) -> npt.NDArray[np.int32]:
    return table.read("name") if isinstance(table, Kernels) else np.zeros(len(table), np.int32)


def _kinds(names: Names, table: DeviceSpan, kind: OperationKind) -> npt.NDArray[np.int8]:
    if isinstance(table, Kernels):
        communicates = communication(names)
        of_name = np.where(communicates, OperationKind.COMMUNICATION, OperationKind.COMPUTE).astype(np.int8)
        return picked(of_name, table.read("name"))
    return np.full(len(table), kind, np.int8)


def communication(names: Names) -> npt.NDArray[np.bool_]:
    """Which distinct kernel names are communication."""
    return names.matching(COMMUNICATION)
