"""The columns behind an interval that the canvas does not draw: launch shape, bytes, kinds, return codes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import Table
from stallscope.model.events import Copies, GpuFaults, GraphRuns, Kernels, Memsets, Migrations
from stallscope.timeline.timeline import Timeline

_DRAWN = {"start_ns", "end_ns", "name", "device", "process", "thread", "kind_of"}
_TABLES: dict[str, type[Table]] = {
    "kernels": Kernels,
    "copies": Copies,
    "memsets": Memsets,
    "graphs": GraphRuns,
    "migrations": Migrations,
    "faults": GpuFaults,
}


def detail_columns(timeline: Timeline) -> dict[str, Mapping[str, npt.NDArray[np.generic]]]:
    """Columns of every detail table that was collected; times and names are in the lanes already."""
    found: dict[str, Mapping[str, npt.NDArray[np.generic]]] = {}
    for key, kind in _TABLES.items():
        table = timeline.trace.table(kind)
        if table is not None and len(table):
            found[key] = {name: table.array(name) for name in table.COLUMNS if name not in _DRAWN}
    if len(timeline.calls):
        found["calls"] = {"correlation": timeline.calls.correlation, "result": timeline.calls.result}
    return found
