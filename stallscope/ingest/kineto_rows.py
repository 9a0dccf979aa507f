"""Collects the rows of a trace kind by kind while its events stream by."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stallscope.errors import InputError
from stallscope.ingest.kineto_columns import Int64Array, NameTable, either, integer, integers, nanoseconds, triples
from stallscope.ingest.kineto_events import Args, Event
from stallscope.ingest.kineto_names import (
    ACCELERATORS,
    CATEGORIES,
    Category,
    call_name,
    is_annotation,
    is_own_frame,
    range_name,
)
from stallscope.ingest.limits import TIME_NS

Columns = dict[str, npt.NDArray[Any]]

_NO_ARGS = Args()


class Rows:
    """Columns of every kind of event, in file order; `columns(kind)` joins the batches.

    `dropped` counts events without a usable time and `kept_empty` device work of length 0.
    Raises `InputError` at the first event of an accelerator that is neither CUDA nor HIP.
    """

    def __init__(self, file: str) -> None:
        self.names = NameTable()
        self.dropped: Counter[str] = Counter()
        self.kept_empty = 0
        self.ignored: Counter[str] = Counter()
        self._file = file
        self._batches: dict[Category, list[Columns]] = {category: [] for category in Category}
        self._collectives: list[Columns] = []
        self._kernels = 0

    def add(self, events: Sequence[Event]) -> None:
        """Take one batch."""
        groups: defaultdict[str | None, list[Event]] = defaultdict(list)
        for event in events:
            if event.ph == "X":
                groups[event.cat].append(event)
        for name, rows in groups.items():
            category = CATEGORIES.get(name or "")
            if category is not None:
                for kind, chosen in _sorted(category, rows):
                    self._add(kind, chosen)
            elif name is not None:
                self._foreign(name, len(rows))

    def columns(self, category: Category) -> Columns | None:
        """All rows of a kind, or None if there were none."""
        return _joined(self._batches[category])

    def collectives(self) -> Columns | None:
        """Collectives by kernel (position among the kernels in file order) or operator (kernel -1)."""
        return _joined(self._collectives)

    def _foreign(self, category: str, count: int) -> None:
        for prefix, accelerator in ACCELERATORS.items():
            if category.startswith(prefix):
                raise InputError(
                    f"a trace of {accelerator}: only CUDA and ROCm traces can be analyzed",
                    file=self._file,
                    next_step="profile the run on an NVIDIA or AMD GPU",
                )
        self.ignored[category] += count

    def _add(self, category: Category, events: list[Event]) -> None:
        if not events:
            return
        start, has_start = nanoseconds(e.ts for e in events)
        length, has_length = nanoseconds(e.dur for e in events)
        # CUPTI writes 0 where it lost a timestamp; a host event at 0 is lost too.
        usable = has_start & has_length & (start > 0) & (start < TIME_NS) & (length >= 0) & (length < TIME_NS)
        if not usable.all():
            self.dropped[category.value] += int((~usable).sum())
            events = [event for event, good in zip(events, usable.tolist(), strict=True) if good]
            start, length = start[usable], length[usable]
        if not events:
            return
        columns: Columns = {"start_ns": start, "end_ns": start + length}
        args = [e.args or _NO_ARGS for e in events]
        if category in _DEVICE:
            self.kept_empty += int((length == 0).sum())
            self._device(columns, events, args)
        else:
            columns["pid"] = integers([e.pid for e in events], NO_ID)
            columns["tid"] = integers([e.tid for e in events], NO_ID)
        self._own(category, columns, events, args)
        if category is Category.KERNEL or category is Category.OPERATOR:
            self._collectives_of(category, events)
            self._kernels += len(events) if category is Category.KERNEL else 0
        self._batches[category].append(columns)

    def _device(self, columns: Columns, events: list[Event], args: list[Args]) -> None:
        columns["device"] = integers(either([a.device for a in args], [e.pid for e in events]))
        columns["context"] = integers([a.context for a in args])
        columns["stream"] = integers(either([a.stream for a in args], [e.tid for e in events]))
        columns["correlation"] = _correlations(args)
        columns["external"] = _external_ids(args)

    def _own(self, category: Category, columns: Columns, events: list[Event], args: list[Args]) -> None:
        if category is Category.KERNEL:
            columns.update(self._kernel(events, args))
        elif category is Category.COPY or category is Category.MEMSET:
            columns["name"] = self.names.column(e.name for e in events)
            columns["bytes"] = integers(either([a.bytes_moved for a in args], [a.size for a in args]), NO_ID)
        elif category is Category.SYNC:
            columns["name"] = self.names.column(_first(a.sync_kind, e.name) for a, e in zip(args, events, strict=True))
            columns["waits_on"] = integers([a.wait_on_stream for a in args], NO_ID)
            columns["record"] = integers([a.wait_on_record for a in args], NO_ID)
            columns["event"] = integers([a.wait_on_event for a in args], NO_ID)
        elif category is Category.API:
            columns["name"] = self.names.column((e.name for e in events), call_name)
            columns["correlation"] = _correlations(args)
            columns["copy_kind"] = integers([a.kind for a in args], NO_ID)
            columns["bytes"] = integers(either([a.bytes_moved for a in args], [a.size for a in args]), NO_ID)
        elif category is Category.OVERHEAD:
            columns["name"] = self.names.column(e.name for e in events)
            columns["correlation"] = _correlations(args)
        else:
            columns["name"] = self.names.column((e.name for e in events), range_name)

    def _kernel(self, events: list[Event], args: list[Args]) -> Columns:
        return {
            "full_name": self.names.column(e.name for e in events),
            "grid": triples([a.grid for a in args]),
            "block": triples([a.block for a in args]),
            "registers": integers([a.registers for a in args]),
            "shared_bytes": integers([a.shared_bytes for a in args]),
            "graph_node": integers([a.graph_node for a in args]),
        }

    def _collectives_of(self, category: Category, events: list[Event]) -> None:
        """What PyTorch recorded about collectives, on their kernels or on the operators that issued them."""
        chosen = [(row, e.args) for row, e in enumerate(events) if e.args is not None and e.args.collective is not None]
        if not chosen:
            return
        args = [found for _, found in chosen]
        is_kernel = category is Category.KERNEL
        offset = self._kernels if is_kernel else 0
        self._collectives.append(
            {
                "kernel": np.array([offset + row if is_kernel else NO_ID for row, _ in chosen], np.int64),
                "external": _external_ids(args),
                "operation": self.names.column(a.collective for a in args),
                "communicator": self.names.column(_communicator(a) for a in args),
                "members": self.names.column(_members(a.group_ranks) for a in args),
                "sequence": integers([a.sequence for a in args], NO_ID),
                "bytes": integers([_payload(a) for a in args], NO_ID),
                "group_size": integers([a.group_size for a in args]),
                "source": integers([a.source_rank for a in args], NO_ID),
                "target": integers([a.target_rank for a in args], NO_ID),
            }
        )


NO_ID = -1
_DEVICE = (Category.KERNEL, Category.COPY, Category.MEMSET, Category.SYNC)

_ELEMENT_BYTES = {
    "Float": 4, "Double": 8, "Half": 2, "BFloat16": 2, "Int": 4, "Long": 8, "Short": 2, "Char": 1, "Byte": 1, "Bool": 1,
    "Float8_e4m3fn": 1, "Float8_e5m2": 1, "Float8_e4m3fnuz": 1, "Float8_e5m2fnuz": 1,
}  # fmt: skip


def _sorted(category: Category, events: list[Event]) -> Iterator[tuple[Category, list[Event]]]:
    """Events of one profiler category by what they are here: old annotations among operators, frames worth keeping."""
    if category is Category.OPERATOR:
        annotations = [e for e in events if is_annotation(str(e.name))]
        if annotations:
            yield Category.ANNOTATION, annotations
            events = [e for e in events if not is_annotation(str(e.name))]
    elif category is Category.PYTHON:
        events = [e for e in events if is_own_frame(str(e.name))]
    yield category, events


def _joined(batches: list[Columns]) -> Columns | None:
    if not batches:
        return None
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def _first(value: Any, other: Any) -> Any:
    return other if value is None else value


def _correlations(args: list[Args]) -> Int64Array:
    """CUPTI's unsigned ids; whatever is not positive is unknown."""
    return np.maximum(integers([a.correlation for a in args]), 0)


def _external_ids(args: list[Args]) -> Int64Array:
    return np.maximum(integers(either([a.external_id for a in args], [a.external_id_lower for a in args])), 0)


def _communicator(args: Args) -> str:
    return str(_first(args.group_name, _first(args.group_id, "")))


def _members(ranks: Any) -> str:
    """`"[0, 1, 2]"` → `"0,1,2"`; an elided list (`[0, 1, …, 63]`) names nobody."""
    text = ",".join(str(r) for r in ranks) if isinstance(ranks, list) else str(ranks or "")
    text = text.strip("[] ").replace(" ", "")
    return text if text and all(part.isdecimal() for part in text.split(",")) else ""


def _payload(args: Args) -> int | None:
    size = _ELEMENT_BYTES.get(args.dtype) if isinstance(args.dtype, str) else None
    elements = max(integer(args.elements_in, NO_ID), integer(args.elements_out, NO_ID))
    return None if size is None or elements < 0 else elements * size
