"""Builds small traces from a few lines: times in microseconds, names as text, everything else with a default.

build = TraceBuilder()
build.launch(0, 5, correlation=1)
build.kernel(10, 20, correlation=1)
trace = build.trace()
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from stallscope.model import events
from stallscope.model.analysis import Source
from stallscope.model.columns import Table
from stallscope.model.names import Names
from stallscope.model.trace import CaptureInfo, Device, Process, Thread, Trace

US = 1_000
"""Nanoseconds in a microsecond."""


class TraceBuilder:
    """Collects rows by table; a table that gets no row stays absent unless it is named in `collected`."""

    def __init__(self, *, devices: int = 1, graph_trace: str = "none") -> None:
        self._rows: dict[type[Table], list[dict[str, Any]]] = defaultdict(list)
        self._names: dict[str, int] = {"": 0}
        self._threads: dict[tuple[int, int], int] = {}
        self._processes: dict[int, int] = {}
        self._devices = devices
        self._graph_trace = graph_trace

    def collected(self, *tables: type[Table]) -> TraceBuilder:
        """Tables that were collected even if nothing happened."""
        for table in tables:
            self._rows[table]
        return self

    def call(
        self,
        name: str,
        start: float,
        end: float,
        *,
        thread: int = 1,
        pid: int = 1,
        correlation: int = 0,
        result: int = 0,
    ) -> None:
        """A host API call."""
        self._add(
            events.ApiCalls,
            start_ns=_ns(start),
            end_ns=_ns(end),
            process=self.process(pid),
            thread=self.thread(thread, pid),
            correlation=correlation,
            name=self.name(name),
            result=result,
        )

    def launch(self, start: float, end: float, *, correlation: int, thread: int = 1, pid: int = 1) -> None:
        """A kernel launch call."""
        self.call("cudaLaunchKernel", start, end, thread=thread, pid=pid, correlation=correlation)

    def kernel(self, start: float, end: float, *, name: str = "kernel", blocks: int = 1000, **where: Any) -> None:
        """A kernel; `where` may give stream, correlation, device, pid, context, graph_node."""
        full = self.name(where.pop("full_name", name))
        node = where.pop("graph_node", 0)
        self._add(
            events.Kernels,
            **self._device_span(start, end, where),
            name=self.name(name),
            full_name=full,
            grid_x=blocks,
            grid_y=1,
            grid_z=1,
            block_x=256,
            block_y=1,
            block_z=1,
            registers=32,
            shared_bytes=0,
            local_bytes=0,
            graph_node=node,
        )

    def copy(
        self,
        start: float,
        end: float,
        *,
        size: int = 1 << 20,
        kind: events.CopyKind = events.CopyKind.HOST_TO_DEVICE,
        source: events.MemoryKind = events.MemoryKind.PINNED,
        target: events.MemoryKind = events.MemoryKind.DEVICE,
        **where: Any,
    ) -> None:
        """A copy on a stream."""
        self._add(
            events.Copies,
            **self._device_span(start, end, where),
            bytes=size,
            kind=kind,
            source_kind=source,
            target_kind=target,
            graph_node=0,
        )

    def memset(self, start: float, end: float, *, size: int = 4, **where: Any) -> None:
        """A device-side fill."""
        self._add(events.Memsets, **self._device_span(start, end, where), bytes=size)

    def migration(
        self, start: float, end: float, *, kind: events.CopyKind, cause: events.MigrationCause, address: int = 1 << 30
    ) -> None:
        """A unified-memory migration of one page."""
        self._add(
            events.Migrations,
            start_ns=_ns(start),
            end_ns=_ns(end),
            device=0,
            process=self.process(1),
            bytes=4096,
            kind=kind,
            cause=cause,
            address=address,
        )

    def nvtx(self, text: str, start: float, end: float, *, thread: int = 1, pid: int = 1, domain: str = "") -> None:
        """A push/pop range."""
        self._add(
            events.NvtxRanges,
            start_ns=_ns(start),
            end_ns=_ns(end),
            thread=self.thread(thread, pid),
            name=self.name(text),
            domain=self.name(domain),
        )

    def span(self, table: type[Table], start: float, end: float, *, thread: int = 1, **columns: Any) -> None:
        """A row of any host-side table with a thread (OsCalls, GilSpans, SchedSpans, Overheads)."""
        if "process" in table.COLUMNS:
            columns.setdefault("process", self.process(1))
        if isinstance(columns.get("name"), str):
            columns["name"] = self.name(columns["name"])
        self._add(table, start_ns=_ns(start), end_ns=_ns(end), thread=self.thread(thread, 1), **columns)

    def row(self, table: type[Table], **columns: Any) -> None:
        """A row of any table, column by column, in nanoseconds."""
        self._add(table, **columns)

    def name(self, text: str) -> int:
        """Id of a string."""
        return self._names.setdefault(text, len(self._names))

    def process(self, pid: int) -> int:
        """Index of a process."""
        return self._processes.setdefault(pid, len(self._processes))

    def thread(self, tid: int, pid: int = 1) -> int:
        """Index of a thread."""
        self.process(pid)
        return self._threads.setdefault((pid, tid), len(self._threads))

    def trace(self) -> Trace:
        """The trace, its tables sorted by start as the reader leaves them."""
        return Trace(
            source=Source(name="built.sqlite", sha256="0" * 64, format="memory"),
            devices=tuple(Device(f"GPU {i}", f"GPU-{i}", "NVIDIA H200", sm_count=132) for i in range(self._devices)),
            processes=tuple(Process(pid) for pid in self._processes),
            threads=tuple(Thread(self._processes[pid], tid) for pid, tid in self._threads),
            names=Names(self._names),
            capture=CaptureInfo(graph_trace=self._graph_trace),  # type: ignore[arg-type]
            tables={table: _table(table, rows) for table, rows in self._rows.items()},
        )

    def _device_span(self, start: float, end: float, where: dict[str, Any]) -> dict[str, Any]:
        unknown = where.keys() - {"stream", "correlation", "device", "pid", "context"}
        assert not unknown, unknown
        return {
            "start_ns": _ns(start),
            "end_ns": _ns(end),
            "device": where.get("device", 0),
            "process": self.process(where.get("pid", 1)),
            "context": where.get("context", 1),
            "stream": where.get("stream", 7),
            "correlation": where.get("correlation", 0),
        }

    def _add(self, table: type[Table], **columns: Any) -> None:
        self._rows[table].append(columns)


def _table(table: type[Table], rows: list[dict[str, Any]]) -> Table:
    key = "start_ns" if "start_ns" in table.COLUMNS else "time_ns"
    ordered = sorted(rows, key=lambda row: row[key]) if rows and key in rows[0] else rows
    return table.of(**{name: [row[name] for row in ordered] for name in table.COLUMNS})


def _ns(us: float) -> int:
    return round(us * US)
