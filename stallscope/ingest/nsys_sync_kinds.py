"""What a synchronization record waited for, by the call that made it.

nsys 2023.4 with driver 580 writes cudaEventSynchronize as a stream wait and cudaStreamWaitEvent as a stream
synchronization, against its own table of names. The API call of the same correlation id knows better.
"""

from __future__ import annotations

import numpy as np

from stallscope.model import events
from stallscope.model.events import SyncKind
from stallscope.model.names import Names

_OF_CALL = (
    (r"^(cuda|cu)StreamWaitEvent", SyncKind.STREAM_WAIT_EVENT),
    (r"^(cuda|cu)EventSynchronize", SyncKind.EVENT),
    (r"^(cuda|cu)StreamSynchronize", SyncKind.STREAM),
    (r"^cuda(Device|Thread)Synchronize|^cuCtxSynchronize", SyncKind.CONTEXT),
)


def with_kinds_of_calls(syncs: events.Syncs, calls: events.ApiCalls, names: Names) -> events.Syncs:
    """The records with the kind of their call; one without such a call keeps its own."""
    if not len(syncs):
        return syncs
    kind_of_name = np.full(len(names), SyncKind.UNKNOWN, np.int8)
    for pattern, kind in _OF_CALL:
        kind_of_name[names.matching(pattern)] = kind
    rows = np.flatnonzero((kind_of_name != SyncKind.UNKNOWN)[calls.read("name")])
    correlation = calls.read("correlation")[rows]
    rows, correlation = rows[correlation > 0], correlation[correlation > 0]
    if not len(rows):
        return syncs
    keys = (calls.at(events.ApiCalls.process, rows).astype(np.int64) << 44) | correlation
    order = np.argsort(keys, kind="stable")
    wanted = (syncs.process.astype(np.int64) << 44) | syncs.correlation
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    told = np.where(keys[at] == wanted, kind_of_name[calls.at(events.ApiCalls.name, rows[at])], syncs.kind)
    return events.Syncs.of(**{**{name: syncs.array(name) for name in syncs.COLUMNS}, "kind": told})
