"""Graph launches: which are the first of a freshly built graph."""

from __future__ import annotations

import numpy as np

from stallscope.timeline.calls import CallKind
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.rows import picked
from stallscope.waits.base import View

INSTANTIATES = r"GraphInstantiate|GraphUpload"


def first_replays(view: View) -> Int64Array:
    """Rows of the graph launches that directly follow an instantiation on their thread: they also upload the graph."""
    calls = view.calls
    built = np.flatnonzero(picked(view.names.matching(INSTANTIATES), calls.read("name")))
    launches = np.flatnonzero(calls.kind == CallKind.GRAPH_LAUNCH)
    position = np.searchsorted(launches, built)
    built, position = built[position < len(launches)], position[position < len(launches)]
    first = launches[position]
    return np.unique(first[calls.thread[first] == calls.thread[built]])
