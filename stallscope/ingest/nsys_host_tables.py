"""Host activities of an export: CUDA calls, OS-runtime calls, scheduling, overheads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_rows import Int64Array, host_spans, timed, with_thread
from stallscope.ingest.nsys_source import wanted
from stallscope.model import events
from stallscope.model.columns import joined
from stallscope.model.events import OverheadKind

_UNKNOWN_OVERHEAD = -1


def api_calls(registry: Registry, tables: list[str]) -> events.ApiCalls:
    """The runtime table (which holds driver calls too) and an older driver table.

    One table comes by (thread, start), the outer of two calls first: so it is asked for, and a long one is not copied.
    """
    return joined([_api_calls(registry, table) for table in tables], order="start_ns")


def _api_calls(registry: Registry, table: str) -> events.ApiCalls:
    columns = {
        **wanted("int", "start", "end"),
        **wanted("key", "globalTid", "nameId"),
        **wanted("zero", "correlationId"),
        **wanted("int32", "returnValue"),
    }
    rows = host_spans(registry, table, registry.rows(table, columns))
    process, thread = registry.process(rows.codes("globalTid")), registry.thread(rows.codes("globalTid"))
    name = registry.names.of_ids(rows.codes("nameId"), api=True)
    order = _by_thread(thread, rows.values("start"), rows.values("end"))
    if order is not None:
        rows, process, thread, name = rows.taken(order), process[order], thread[order], name[order]
    return events.ApiCalls.lazily(
        len(rows),
        start_ns=rows.later("start"),
        end_ns=rows.later("end"),
        process=process,
        thread=thread,
        correlation=rows.later("correlationId"),
        name=name,
        result=rows.later("returnValue"),
    )


def _by_thread(thread: npt.NDArray[np.int32], starts: Int64Array, ends: Int64Array) -> Int64Array | None:
    """Order by (thread, start, longest first) of rows that are by start; None where they are in it already."""
    ordered = bool((thread[1:] >= thread[:-1]).all())
    if ordered:
        order = np.arange(len(thread))
    else:
        few = bool(thread.max() < np.iinfo(np.int16).max)
        order = np.argsort(thread.astype(np.int16) if few else thread, kind="stable")  # numpy counts 16 bits, sorts 32
        thread, starts, ends = thread[order], starts[order], ends[order]
    tied = (thread[1:] == thread[:-1]) & (starts[1:] == starts[:-1])
    if not bool((tied & (ends[1:] > ends[:-1])).any()):
        return None if ordered else order
    block = np.flatnonzero(np.append(tied, False) | np.append(False, tied))
    order[block] = order[block][np.lexsort((-ends[block], starts[block], thread[block]))]
    return order


def os_calls(registry: Registry, table: str) -> events.OsCalls:
    """Blocking functions of the operating system's libraries."""
    columns = {**wanted("int", "start", "end"), **wanted("key", "globalTid", "nameId")}
    rows = host_spans(registry, table, registry.rows(table, columns))
    return events.OsCalls.lazily(
        len(rows),
        start_ns=rows.later("start"),
        end_ns=rows.later("end"),
        thread=registry.thread(rows.codes("globalTid")),
        name=registry.names.of_ids(rows.codes("nameId")),
    )


def scheduled_out(registry: Registry, table: str) -> events.SchedSpans:
    """From a thread's switch-out to its next switch-in."""
    rows = registry.rows(table, {**wanted("int", "start", "isSchedIn"), **wanted("key", "globalTid")})
    known = rows.missing("isSchedIn")
    rows = rows if known is None else rows.only(~known)
    rows = with_thread(registry, table, timed(registry, table, rows, "start"))
    thread, start, is_in = registry.thread(rows.codes("globalTid")), rows.values("start"), rows.values("isSchedIn")
    order = np.argsort(thread, kind="stable")
    this, following = order[:-1], order[1:]
    off = (thread[this] == thread[following]) & (is_in[this] == 0) & (is_in[following] != 0)
    row = np.sort(this[off])
    end = np.empty(len(rows), np.int64)
    end[this] = start[following]
    return events.SchedSpans.of(start_ns=start[row], end_ns=end[row], thread=thread[row])


def overheads(registry: Registry, tables: dict[str, OverheadKind | None]) -> events.Overheads:
    """Overhead rows; the value is the kind of rows whose own type says nothing (None leaves them out)."""
    return joined([_overheads(registry, table, default) for table, default in tables.items()], order="start_ns")


def _overheads(registry: Registry, table: str, default: OverheadKind | None) -> events.Overheads:
    columns = {
        **wanted("int", "start", "end"),
        **wanted("key", "globalTid", "overheadType", "nameId"),
        **wanted("zero", "correlationId"),
    }
    rows = host_spans(registry, table, registry.rows(table, columns))
    unknown = _UNKNOWN_OVERHEAD if default is None else default.value
    kind = registry.enum(enums.OVERHEAD_KIND, rows.codes("overheadType"), unknown)
    if default is OverheadKind.PROFILER:
        names = rows.codes("nameId")
        named = names.mapped([enums.OVERHEAD_NAME.get(text, unknown) for text in registry.names.texts(names)], unknown)
        kind = np.where(kind == unknown, named, kind).astype(np.int8)
    every = events.Overheads.lazily(
        len(rows),
        start_ns=rows.later("start"),
        end_ns=rows.later("end"),
        thread=registry.thread(rows.codes("globalTid")),
        process=registry.process(rows.codes("globalTid")),
        kind=kind,
        correlation=rows.later("correlationId"),
    )
    return every.take(kind != _UNKNOWN_OVERHEAD)
