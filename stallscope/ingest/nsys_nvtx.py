"""NVTX ranges of an export: push/pop, start/end, domains, and the GIL trace that is stored as NVTX."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest.export_codes import Codes, Column, paired
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_rows import Int32Array, host_spans, latest
from stallscope.ingest.nsys_source import Kind, wanted
from stallscope.model import events

_THREAD_BITS = (1 << 24) - 1
_GIL_DOMAIN = re.compile(r"(python )?gil( trace)?", re.IGNORECASE)
_WAITING = re.compile(r"wait", re.IGNORECASE)
_CALL_NUMBERS = re.compile(r"(, (seq|op_id) = \d+)+")
"""PyTorch numbers every call (`aten::mul, seq = 45, op_id = 99`): without the numbers equal operators share a name."""

_NCCL_CALL = re.compile(r"nccl[A-Z]")
RANGES: dict[str, Kind] = {
    **wanted("int", "start", "end"),
    **wanted("key", "eventType", "globalTid", "endGlobalTid", "textId", "domainId"),
    **wanted("name", "text"),
}

Owner = tuple[int, int]
"""Process key and number of an NVTX domain."""


@dataclass(frozen=True, slots=True)
class NvtxTables:
    """All ranges of an export by what they are (`gil` is None without a GIL domain)."""

    ranges: events.NvtxRanges
    cross_thread: events.CrossThreadRanges
    gil: events.GilSpans | None


def nvtx(registry: Registry, table: str, last_ns: int) -> NvtxTables:
    """All ranges of the table; those that were never closed end at `last_ns`, the end of the trace."""
    rows = registry.rows(table, RANGES)
    kind = registry.enum(enums.NVTX_EVENT, rows.codes("eventType"), 0)
    if "eventType" not in registry.source.tables[table]:
        kind = np.full(len(rows), enums.PUSH_POP, np.int8)
    rows = rows.with_column("name", Column(_names(registry, rows)))
    created = rows.only(kind == enums.DOMAIN)
    ranges = _closed(rows.only((kind == enums.PUSH_POP) | (kind == enums.START_END)), last_ns)
    ranges = host_spans(registry, table, ranges)
    thread = registry.thread(ranges.codes("globalTid"))
    return _split(registry, ranges, thread, _domains(registry, ranges, created))


def _names(registry: Registry, rows: Rows) -> Int32Array:
    """The inline text of each row, else its registered string."""
    inline = registry.names.of_texts(rows.codes("text"), without=_CALL_NUMBERS)
    registered = registry.names.of_ids(rows.codes("textId"))
    return np.where(inline == 0, registered, inline)


def _closed(ranges: Rows, last_ns: int) -> Rows:
    """The ranges, open ones closed at the end of the trace."""
    begun, ended = ranges.missing("start"), ranges.missing("end")
    if ended is None:
        return ranges
    starts, whole = ranges.values("start"), ranges.columns["end"]
    last_ns = max(last_ns, latest(starts if begun is None else starts[~begun]), latest(ranges.values("end")[~ended]))
    return ranges.with_column("end", Column(whole.filled(last_ns)))


def _domains(registry: Registry, ranges: Rows, created: Rows) -> Int32Array:
    """Name id of the domain of every range.

    A domain that was created outside the capture has no name: it is NCCL's when it holds NCCL's calls alone, else it
    goes by its number.
    """
    makers = _owners(created)
    named = {
        makers.distinct[code]: name for code, name in zip(makers.codes, created.values("name").tolist(), strict=True)
    }
    owners, names = _owners(ranges), ranges.values("name")
    is_nccl = np.fromiter((bool(_NCCL_CALL.match(text)) for text in registry.names.names()), np.bool_)
    mixed = {owners.distinct[code] for code in Codes(owners.codes[~is_nccl[names]], owners.distinct).in_order()}
    used = sorted(owners.distinct[code] for code in owners.in_order())
    found: dict[Owner, int] = {}
    for owner in used:
        _, number = owner
        text = "" if number == 0 else f"domain {number}" if owner in mixed else "NCCL"
        found[owner] = named[owner] if owner in named else registry.names.intern(text)
    return owners.mapped([found.get(owner, 0) for owner in owners.distinct], 0)


def _owners(rows: Rows) -> Codes:
    """The domain of each row, told by its process and number: numbers repeat between processes."""
    tids, numbers = rows.codes("globalTid").filled(0), rows.codes("domainId").filled(0)
    keys = [tid & ~_THREAD_BITS for tid in tids.distinct]
    place = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return paired(Codes(tids.mapped([place[key] for key in keys], 0), list(place)), numbers)


def _split(registry: Registry, ranges: Rows, thread: Int32Array, domain: Int32Array) -> NvtxTables:
    texts = list(registry.names.names())
    gil_domains = [name for name in np.unique(domain).tolist() if _GIL_DOMAIN.fullmatch(texts[name])]
    is_gil = np.isin(domain, gil_domains) if gil_domains else np.zeros(len(ranges), np.bool_)
    ends_on, begins_on = ranges.codes("endGlobalTid"), ranges.codes("globalTid")
    crosses = ~is_gil & (ends_on.codes >= 0) if ends_on.distinct else np.zeros(len(ranges), np.bool_)
    if crosses.any():
        crosses &= ends_on.values() != begins_on.values()
    user = events.NvtxRanges.lazily(
        len(ranges),
        start_ns=ranges.later("start"),
        end_ns=ranges.later("end"),
        thread=thread,
        name=ranges.later("name"),
        domain=domain,
    )
    crossing = ranges.only(crosses)
    return NvtxTables(
        ranges=user if not (crosses | is_gil).any() else user.take(~(crosses | is_gil)),
        cross_thread=events.CrossThreadRanges.of(
            start_ns=crossing.values("start"),
            end_ns=crossing.values("end"),
            thread=thread[crosses],
            end_thread=registry.thread(crossing.codes("endGlobalTid")),
            name=crossing.values("name"),
        ),
        gil=_gil(ranges, thread, is_gil, texts) if gil_domains else None,
    )


def _gil(ranges: Rows, thread: Int32Array, is_gil: npt.NDArray[np.bool_], texts: list[str]) -> events.GilSpans:
    waits = np.fromiter((bool(_WAITING.search(text)) for text in texts), np.bool_, len(texts))
    spans = ranges.only(is_gil)
    return events.GilSpans.of(
        start_ns=spans.values("start"),
        end_ns=spans.values("end"),
        thread=thread[is_gil],
        waiting=waits[spans.values("name")],
    )
