"""From collected rows to the typed tables of a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.ingest.kineto_collectives import collective_table
from stallscope.ingest.kineto_columns import Int64Array, NameTable, match
from stallscope.ingest.kineto_names import (
    HIP_COPIES,
    Category,
    copy_kinds,
    overhead_kind,
    short_kernel_name,
    sync_kind,
)
from stallscope.ingest.kineto_rows import NO_ID, Columns, Rows
from stallscope.model.columns import Table
from stallscope.model.events import (
    ApiCalls,
    Collectives,
    Copies,
    EventRecords,
    Kernels,
    Memsets,
    NvtxRanges,
    Overheads,
    SyncKind,
    Syncs,
)
from stallscope.model.trace import Process, Thread

_DEVICE_WORK = (Category.KERNEL, Category.COPY, Category.MEMSET)
_HOST = (Category.API, Category.OVERHEAD, Category.ANNOTATION, Category.OPERATOR, Category.PYTHON)
_DOMAINS = {Category.ANNOTATION: "", Category.OPERATOR: "operator", Category.PYTHON: "python"}


class TableBuilder:
    """Tables, devices, processes and threads of one trace; times become relative to `origin_ns`."""

    def __init__(self, rows: Rows) -> None:
        self.names: NameTable = rows.names
        self._found = {category: rows.columns(category) for category in Category}
        self._collectives = rows.collectives()
        starts = [int(c["start_ns"].min()) for c in self._found.values() if c is not None]
        self.origin_ns = min(starts, default=0)
        self.device_ids = self._devices()
        self.processes, self.threads, self._pairs = self._hosts()
        self._order: Int64Array = np.empty(0, np.int64)

    def tables(self) -> dict[type[Table], Table]:
        """Every table the trace holds. Device tables exist, possibly empty, as soon as any device work was traced."""
        found: dict[type[Table], Table] = {}
        if self.device_ids:
            found[Kernels] = self._kernels()
            found[Copies] = self._copies()
            found[Memsets] = self._memsets()
        if (calls := self._found[Category.API]) is not None:
            found[ApiCalls] = self._calls(calls)
        if (syncs := self._found[Category.SYNC]) is not None:
            found.update(self._syncs(syncs))
        if (overheads := self._found[Category.OVERHEAD]) is not None:
            found[Overheads] = self._overheads(overheads)
        if any(self._found[category] is not None for category in _DOMAINS):
            found[NvtxRanges] = self._ranges()
        if self._collectives is not None and Kernels in found:
            found[Collectives] = collective_table(self._collectives, self._found[Category.KERNEL])
        return found

    def _devices(self) -> list[int]:
        found = [self._found[category] for category in _DEVICE_WORK]
        ids = [np.unique(columns["device"]) for columns in found if columns is not None]
        return sorted({int(i) for array in ids for i in array})

    def _hosts(self) -> tuple[tuple[Process, ...], tuple[Thread, ...], npt.NDArray[np.int64]]:
        found = [columns for c in _HOST if (columns := self._found[c]) is not None]
        if not found:
            return (Process(pid=0),), (), np.empty((0, 2), np.int64)
        pairs = np.concatenate([np.unique(np.stack((c["pid"], c["tid"]), axis=1), axis=0) for c in found])
        pairs = np.unique(pairs, axis=0)
        calls = self._found[Category.API]
        owner = calls["pid"] if calls is not None else pairs[:, 0]
        pids, counts = np.unique(owner, return_counts=True)
        main = int(pids[np.argmax(counts)])
        order = [main, *(int(p) for p in np.unique(pairs[:, 0]) if p != main)]
        index = {pid: position for position, pid in enumerate(order)}
        threads = tuple(Thread(process=index[int(pid)], tid=int(tid)) for pid, tid in pairs)
        return tuple(Process(pid=pid) for pid in order), threads, pairs

    def _host(self, columns: Columns) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Process and thread index of every row."""
        wanted = np.stack((columns["pid"], columns["tid"]), axis=1)
        distinct, inverse = np.unique(wanted, axis=0, return_inverse=True)
        row_of = {(int(p), int(t)): row for row, (p, t) in enumerate(self._pairs)}
        rows = np.array([row_of[int(p), int(t)] for p, t in distinct], np.int32)
        thread = rows[inverse.ravel()]
        process_of = np.array([t.process for t in self.threads], np.int32)
        return process_of[thread], thread

    def _process_of(self, correlation: Int64Array) -> npt.NDArray[np.int32]:
        """Process of device work: that of the call with the same id; the only one, or the main one, where none is."""
        process = np.zeros(len(correlation), np.int32)
        calls = self._found[Category.API]
        if calls is None or len(self.processes) == 1:
            return process
        owner, _ = self._host(calls)
        row = match(calls["correlation"], correlation)
        return np.where(row == NO_ID, 0, owner[np.maximum(row, 0)]).astype(np.int32)

    def _timed(self, columns: Columns) -> dict[str, npt.NDArray[Any]]:
        """Rows by start, times on the trace clock."""
        self._order = np.argsort(columns["start_ns"], kind="stable")
        taken = {name: array[self._order] for name, array in columns.items()}
        taken["start_ns"] = taken["start_ns"] - self.origin_ns
        taken["end_ns"] = taken["end_ns"] - self.origin_ns
        return taken

    def _work(self, columns: Columns) -> dict[str, npt.NDArray[Any]]:
        """Columns of DeviceSpan, and the own ones, of device work."""
        rows = self._timed(columns)
        ids = np.array(self.device_ids, np.int64)
        rows["device"] = np.searchsorted(ids, rows["device"]).astype(np.int32)
        rows["process"] = self._process_of(rows["correlation"])
        rows.pop("external")
        return rows

    def _kernels(self) -> Kernels:
        columns = self._found[Category.KERNEL]
        if columns is None:
            return Kernels.empty()
        rows = self._work(columns)
        grid, block = rows.pop("grid"), rows.pop("block")
        axes = {
            f"{what}_{axis}": array[:, i] for what, array in (("grid", grid), ("block", block)) for i, axis in _AXES
        }
        short = self._translated(rows["full_name"], lambda text: self.names.add(short_kernel_name(text)))
        return Kernels.of(**rows, **axes, name=short, local_bytes=np.zeros(len(short), np.int64))

    def _copies(self) -> Copies:
        columns = self._found[Category.COPY]
        if columns is None:
            return Copies.empty()
        rows = self._work(columns)
        name = rows.pop("name")
        kind, source, target = (self._translated(name, _side(position)) for position in range(3))
        size, said = self._from_calls(rows["correlation"])
        rows["bytes"] = np.where(rows["bytes"] >= 0, rows["bytes"], np.maximum(size, 0))
        kinds = np.where(said >= 0, said, kind).astype(np.int8)
        return Copies.of(
            **rows, kind=kinds, source_kind=source, target_kind=target, graph_node=np.zeros(len(kind), np.int64)
        )

    def _from_calls(self, correlation: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Bytes and CopyKind that the HIP call of each copy recorded; NO_ID where it did not."""
        none = np.full(len(correlation), NO_ID, np.int64)
        calls = self._found[Category.API]
        if calls is None:
            return none, none
        row = match(calls["correlation"], correlation)
        known = np.maximum(row, 0)
        size = np.where(row == NO_ID, NO_ID, calls["bytes"][known])
        number = np.where(row == NO_ID, NO_ID, calls["copy_kind"][known])
        valid = (number >= 0) & (number < len(HIP_COPIES))
        kinds = np.array(HIP_COPIES, np.int64)[np.where(valid, number, 0)]
        return size, np.where(valid, kinds, NO_ID)

    def _memsets(self) -> Memsets:
        columns = self._found[Category.MEMSET]
        if columns is None:
            return Memsets.empty()
        rows = self._work(columns)
        rows.pop("name")
        rows["bytes"] = np.maximum(rows["bytes"], 0)
        return Memsets.of(**rows)

    def _calls(self, columns: Columns) -> ApiCalls:
        rows = self._timed(columns)
        process, thread = self._host(rows)
        return ApiCalls.of(
            **{name: rows[name] for name in ("start_ns", "end_ns", "correlation", "name")},
            process=process,
            thread=thread,
            result=np.zeros(len(thread), np.int32),
        )

    def _syncs(self, columns: Columns) -> dict[type[Table], Table]:
        """Waits, and the event records they name; queries (`cudaEventQuery`) ask but do not wait."""
        columns = self._without_queries(columns)
        rows = self._timed(columns)
        kind = self._translated(rows.pop("name"), sync_kind)
        ids = np.array([*self.device_ids, np.iinfo(np.int64).max], np.int64)
        device = np.minimum(np.searchsorted(ids, rows["device"]), max(len(self.device_ids) - 1, 0))
        process = self._process_of(rows["correlation"])
        record = np.maximum(rows["record"], 0)
        held = np.isin(kind, (SyncKind.STREAM_WAIT_EVENT, SyncKind.STREAM))
        syncs = Syncs.of(
            start_ns=rows["start_ns"],
            end_ns=rows["end_ns"],
            device=device,
            process=process,
            context=rows["context"],
            stream=np.where(held, rows["stream"], NO_ID),
            correlation=rows["correlation"],
            kind=kind,
            event=rows["event"],
            event_sync=record,
        )
        _, first = np.unique(record, return_index=True)
        first = first[(record[first] > 0) & (rows["waits_on"][first] >= 0)]
        records = EventRecords.of(
            process=process[first],
            context=rows["context"][first],
            stream=rows["waits_on"][first],
            correlation=record[first],
            event=rows["event"][first],
            event_sync=record[first],
            time_ns=np.zeros(len(first), np.int64),
        )
        return {Syncs: syncs, EventRecords: records}

    def _without_queries(self, columns: Columns) -> Columns:
        calls = self._found[Category.API]
        if calls is None:
            return columns
        row = match(calls["correlation"], columns["correlation"])
        queries = self._translated(calls["name"], lambda text: int(text.endswith("Query"))) == 1
        asks = (row != NO_ID) & queries[np.maximum(row, 0)]
        return {name: array[~asks] for name, array in columns.items()}

    def _overheads(self, columns: Columns) -> Overheads:
        rows = self._timed(columns)
        process, thread = self._host(rows)
        kind = self._translated(rows.pop("name"), overhead_kind)
        return Overheads.of(
            **{name: rows[name] for name in ("start_ns", "end_ns", "correlation")},
            process=process,
            thread=thread,
            kind=kind,
        )

    def _ranges(self) -> NvtxRanges:
        parts = []
        for category, domain in _DOMAINS.items():
            columns = self._found[category]
            if columns is None:
                continue
            _, thread = self._host(columns)
            label = np.full(len(thread), self.names.add(domain), np.int32)
            kept = {name: columns[name] for name in ("start_ns", "end_ns", "name")}
            parts.append({**kept, "thread": thread, "domain": label})
        rows = self._timed({name: np.concatenate([p[name] for p in parts]) for name in parts[0]})
        return NvtxRanges.of(**rows)

    def _translated(self, ids: npt.NDArray[Any], change: Callable[[str], int]) -> Int64Array:
        """Apply a function of the text to a name column, once a distinct name."""
        texts = self.names.texts()
        distinct, inverse = np.unique(ids, return_inverse=True)
        return np.array([change(texts[i]) for i in distinct], np.int64)[inverse.ravel()]


def _side(position: int) -> Callable[[str], int]:
    return lambda text: copy_kinds(text)[position]


_AXES = ((0, "x"), (1, "y"), (2, "z"))
