"""Host activities of an export: CUDA calls, OS-runtime calls, scheduling, overheads."""

from __future__ import annotations

import numpy as np

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest.at_once import at_once
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_rows import Int64Array, host_spans, host_spans_as_written, timed, with_thread
from stallscope.ingest.nsys_source import Kind, wanted
from stallscope.model import events
from stallscope.model.columns import joined
from stallscope.model.events import OverheadKind
from stallscope.model.packing import packed

API_CALLS: dict[str, Kind] = {
    **wanted("int", "start", "end"),
    **wanted("key", "globalTid", "nameId"),
    **wanted("zero", "correlationId"),
    **wanted("int32", "returnValue"),
}
_UNKNOWN_OVERHEAD = -1


def api_calls(registry: Registry, tables: list[str]) -> events.ApiCalls:
    """The runtime table (which holds driver calls too) and an older driver table.

    One table comes by (thread, start), the outer of two calls first: so it is asked for, and a long one is not copied.
    """
    return joined([_api_calls(registry, table) for table in tables], order="start_ns")


def _api_calls(registry: Registry, table: str) -> events.ApiCalls:
    written = host_spans_as_written(registry, table, registry.rows(table, API_CALLS))
    names = registry.names.each_call(written.codes("nameId"))
    threads = registry.threads_of(written.codes("globalTid"))  # in the order of the file: soon all have been met
    processes = registry.processes_of(written.codes("globalTid"))
    rows, starts = _by_thread(written, threads)
    tid = rows.codes("globalTid")
    # Few ask for all of these, but if they were read later, they would keep the order of the rows.
    process, name, correlation, result = at_once(
        len(rows),
        lambda: tid.packed(processes, -1),
        lambda: rows.codes("nameId").packed(names, 0),
        lambda: packed(rows.values("correlationId")),
        lambda: packed(rows.values("returnValue")),
    )
    return events.ApiCalls.lazily(
        len(rows),
        start_ns=starts,
        end_ns=rows.later("end"),
        process=process,
        thread=tid.mapped(threads, -1),
        name=name,
        correlation=correlation,
        result=result,
    )


def _by_thread(rows: Rows, thread_of: list[int]) -> tuple[Rows, Int64Array]:
    """The rows by (thread, start, longest first), and their starts."""
    grouped = rows.grouped_by("globalTid", thread_of)
    starts = grouped.values("start")
    if _descends(grouped, starts, thread_of):  # not written one after the other within their threads
        grouped = rows.sorted_by("start").grouped_by("globalTid", thread_of)
        starts = grouped.values("start")
    return _outer_first(grouped, starts, thread_of), starts


def _descends(rows: Rows, starts: Int64Array, thread_of: list[int]) -> bool:
    lower = np.flatnonzero(starts[1:] < starts[:-1])  # as a rule where the next thread begins
    here, following = (rows.taken(places).codes("globalTid").mapped(thread_of, 0) for places in (lower, lower + 1))
    return bool((here == following).any())


def _outer_first(rows: Rows, starts: Int64Array, thread_of: list[int]) -> Rows:
    """Of two calls of a thread that begin in the same nanosecond, the longer one holds the other."""
    same = np.flatnonzero(starts[1:] == starts[:-1])
    places = np.union1d(same, same + 1)
    tied = rows.taken(places)
    order = np.lexsort((-tied.values("end"), starts[places], tied.codes("globalTid").mapped(thread_of, 0)))
    if bool((order[1:] > order[:-1]).all()):
        return rows
    settled = np.arange(len(rows))
    settled[places] = places[order]
    return rows.taken(settled)


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
