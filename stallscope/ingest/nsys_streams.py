"""Streams of an export: created ones and the null stream of each context."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stallscope.ingest import nsys_enums as enums
from stallscope.ingest import nsys_schema as schema
from stallscope.ingest.nsys_registry import Registry
from stallscope.ingest.nsys_source import Kind, wanted
from stallscope.model import events
from stallscope.model.events import StreamFlag

_Stream = tuple[int, int, int]
"""Process index, context id, stream id."""


def streams(registry: Registry) -> events.Streams | None:
    """Created streams and the null stream of each context, of the processes met so far; the last row tells."""
    tables = (
        (registry.table(schema.CUDA_STREAMS), "streamId", None),
        (registry.table(schema.CUDA_CONTEXTS), "nullStreamId", StreamFlag.NULL),
        (registry.table(schema.CUDA_NULL_STREAMS), "streamId", StreamFlag.NULL),
    )
    if all(table is None for table, _, _ in tables):
        return None
    found: dict[_Stream, tuple[int, int]] = {}
    for table, stream, flag in tables:
        for key, kind in _streams(registry, table, stream, flag) if table else ():
            found.pop(key, None)  # its place is that of its last row
            found[key] = kind
    keys, kinds = np.array([*found], np.int64).reshape(-1, 3), np.array([*found.values()], np.int32).reshape(-1, 2)
    return events.Streams.of(
        process=keys[:, 0], context=keys[:, 1], stream=keys[:, 2], flag=kinds[:, 0], priority=kinds[:, 1]
    )


def _streams(
    registry: Registry, table: str, stream: str, flag: StreamFlag | None
) -> Iterator[tuple[_Stream, tuple[int, int]]]:
    columns: dict[str, Kind] = {
        **wanted("int", "processId", "contextId", stream),
        **wanted("int32", "priority"),
        **wanted("key", "flag"),
    }
    rows = registry.rows(table, columns)
    flags = registry.enum(enums.STREAM_FLAG, rows.codes("flag"), StreamFlag.UNKNOWN).tolist()
    records = rows.records("processId", "contextId", stream, "priority")
    processes = registry.processes_of_pids([pid for pid, *_ in records])
    for process, (_, context, number, priority), said in zip(processes, records, flags, strict=True):
        if process is not None and context is not None and number is not None:
            yield (process, context, number), (said if flag is None else flag.value, priority)
