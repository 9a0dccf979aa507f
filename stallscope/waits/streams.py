"""How the streams of operations were created."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.events import StreamFlag, Streams
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.stream_order import stream_key
from stallscope.waits.base import View


def stream_flags(view: View, rows: Int64Array) -> npt.NDArray[np.int8]:
    """StreamFlag of the stream of each operation."""
    streams, order = view[Streams], view.stream_order
    if not len(streams):
        return np.full(len(rows), StreamFlag.UNKNOWN, np.int8)
    known = stream_key(streams.process, streams.context, streams.stream)
    by_key = np.argsort(known, kind="stable")
    at = by_key[np.minimum(np.searchsorted(known[by_key], order.keys), len(known) - 1)]
    flags = np.where(known[at] == order.keys, streams.flag[at], StreamFlag.UNKNOWN).astype(np.int8)
    return flags[order.of_row[rows]]


def on_null_stream(view: View, rows: Int64Array) -> npt.NDArray[np.bool_]:
    """Operations on the legacy default stream, which holds and is held for reasons of its own."""
    return np.asarray(stream_flags(view, rows) == StreamFlag.NULL)
