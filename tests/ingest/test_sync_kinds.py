"""Kinds of synchronization records that contradict the call they belong to."""

from __future__ import annotations

import numpy as np

from stallscope.ingest.nsys_sync_kinds import with_kinds_of_calls
from stallscope.model import events
from stallscope.model.events import SyncKind
from stallscope.model.names import Names


def syncs(kinds: list[int], correlations: list[int]) -> events.Syncs:
    zeros = np.zeros(len(kinds), np.int64)
    columns = dict.fromkeys(events.Syncs.COLUMNS, zeros)
    return events.Syncs.of(**{**columns, "kind": kinds, "correlation": correlations})


def calls(names: list[int], correlations: list[int]) -> events.ApiCalls:
    zeros = np.zeros(len(names), np.int64)
    columns = dict.fromkeys(events.ApiCalls.COLUMNS, zeros)
    return events.ApiCalls.of(**{**columns, "name": names, "correlation": correlations})


def test_the_call_decides_and_a_record_without_one_keeps_its_kind() -> None:
    """nsys 2023.4 with driver 580: an event synchronization is a "stream wait", a stream wait a "stream sync"."""
    names = Names({"": 0, "cudaEventSynchronize": 1, "cudaStreamWaitEvent": 2, "cudaLaunchKernel": 3})
    found = with_kinds_of_calls(
        syncs([SyncKind.STREAM_WAIT_EVENT, SyncKind.STREAM, SyncKind.STREAM, SyncKind.CONTEXT], [11, 12, 13, 0]),
        calls([2, 1, 3], [12, 11, 13]),
        names,
    )
    assert found.kind.tolist() == [SyncKind.EVENT, SyncKind.STREAM_WAIT_EVENT, SyncKind.STREAM, SyncKind.CONTEXT]
