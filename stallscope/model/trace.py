"""A capture in memory: what produced it, which devices and threads it saw, and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from stallscope.model.analysis import CaptureNote, Source
from stallscope.model.columns import Table
from stallscope.model.names import Names

TableT = TypeVar("TableT", bound=Table)
Collected = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, slots=True)
class Device:
    """One physical GPU, whatever process or context used it."""

    label: str
    uuid: str
    name: str
    sm_count: int = 0
    l2_bytes: int = 0
    memory_bandwidth_bytes_per_s: int = 0
    compute_capability: str = ""


@dataclass(frozen=True, slots=True)
class Process:
    """One traced process."""

    pid: int


@dataclass(frozen=True, slots=True)
class Thread:
    """One host thread; `process` indexes `Trace.processes`."""

    process: int
    tid: int


@dataclass(frozen=True, slots=True)
class CaptureInfo:
    """What was collected (`collected[key]` is yes, no or unknown) and what the reader noticed on the way.

    `driver_version` is the NVIDIA driver's (`580.159.04`), `cuda_driver_version` the CUDA version it supports
    (`13000`); empty when the capture does not tell.
    """

    collected: Mapping[str, Collected] = field(default_factory=dict)
    graph_trace: Literal["node", "graph", "none", "unknown"] = "unknown"
    notes: tuple[CaptureNote, ...] = ()
    driver_version: str = ""
    cuda_driver_version: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """Typed tables of one source. A table that was not collected is absent, not empty.

    `origin_ns` is what the producer's clock showed at time 0 of the trace clock: `start_ns + origin_ns` compares with
    another trace of the same machine, and of another machine up to the offset of the two clocks.
    """

    source: Source
    devices: tuple[Device, ...]
    processes: tuple[Process, ...]
    threads: tuple[Thread, ...]
    names: Names
    capture: CaptureInfo
    tables: Mapping[type[Table], Table]
    origin_ns: int = 0

    def table(self, kind: type[TableT]) -> TableT | None:
        """The table, or None when it was not collected."""
        found = self.tables.get(kind)
        return found if isinstance(found, kind) else None
