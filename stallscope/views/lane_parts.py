"""What lanes are made of before they are packed and numbered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from stallscope.model.names import Names
from stallscope.views.lanes import Int32Array, Int64Array, IntervalClass, LaneKind, UInt8Array

Source = Literal["operation", "call", "charge", "other"]

DETAILS = ("", "kernels", "copies", "memsets", "graphs", "calls", "migrations", "faults", "charges")
"""Detail tables by number; 0 has no further columns."""

# By OperationKind.
OPERATION_CLASSES = (
    IntervalClass("compute", "kernel", "work"),
    IntervalClass("communication", "communication kernel", "comm"),
    IntervalClass("copy", "copy", "copy"),
    IntervalClass("memset", "memset", "memset"),
    IntervalClass("graph", "graph replay", "work"),
)
MIGRATION_CLASSES = (
    IntervalClass("migration", "page migration", "uvm"),
    IntervalClass("fault", "GPU page faults", "uvm"),
)
CALL_CLASSES = (
    IntervalClass("api", "API call", "memset"),
    IntervalClass("api-launch", "launch call", "launch"),
    IntervalClass("api-sync", "sync call", "sync"),
    IntervalClass("api-alloc", "allocation call", "alloc"),
    IntervalClass("api-copy", "copy call", "copy"),
    IntervalClass("api-init", "loading or building", "init"),
)
RANGE_CLASSES = (IntervalClass("nvtx", "NVTX range", "range"),)
OS_CLASSES = (IntervalClass("os", "OS call", "host"),)
GIL_CLASSES = (
    IntervalClass("gil-hold", "holds the GIL", "memset"),
    IntervalClass("gil-wait", "waits for the GIL", "host"),
)
OFF_CPU_CLASSES = (IntervalClass("off-cpu", "off the CPU", "host"),)


@dataclass(frozen=True, slots=True)
class Part:
    """Intervals of one kind of one device or thread, in any order, overlapping or not.

    `kind` indexes `classes`; `detail` indexes `DETAILS` and `row` is a row of that table; `source_row` is the row in
    the table that `source` names (Operations, HostCalls, Charges), through which intervals are linked.
    """

    key: str
    label: str
    group: str
    lane_kind: LaneKind
    classes: tuple[IntervalClass, ...]
    start_ns: Int64Array
    end_ns: Int64Array
    name: Int32Array
    kind: UInt8Array
    detail: UInt8Array
    row: Int32Array
    source: Source
    source_row: Int64Array


class NameTable:
    """The trace's names, and those the timeline adds (copies have none of their own)."""

    def __init__(self, names: Names) -> None:
        self._base = names
        self._added: dict[str, int] = {}

    def add(self, text: str) -> int:
        """Number of a text that the trace does not have."""
        return self._added.setdefault(text, len(self._base) + len(self._added))

    def texts(self) -> tuple[str, ...]:
        """All names by number."""
        return (*self._base, *self._added)


def constant(value: int, length: int) -> UInt8Array:
    """A column of one small number."""
    return np.full(length, value, np.uint8)


def rows32(rows: npt.NDArray[np.int64] | npt.NDArray[np.intp]) -> Int32Array:
    """Row numbers as the table stores them."""
    return rows.astype(np.int32)
