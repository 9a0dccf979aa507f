"""Loading of GPU code: which calls and overhead records belong to it, and whether it never stops."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.events import OverheadKind, Overheads
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import View

LOADS_DATA = r"^(cu|hip)(Module|Library)LoadData|^cuModuleLoadFatBinary|^cudaLibraryLoadData"
STEADY_TENTHS = 3
"""Code that is loaded in this many different tenths of the second half of a window is being rebuilt, not warmed up."""


def loads_forever(view: View) -> npt.NDArray[np.bool_]:
    """Per row of `HostCalls`: an image is loaded, and loading goes on in the steady state of its process."""
    calls = view.calls
    loads = view.names.matching(LOADS_DATA)[calls.name]
    forever = np.zeros(len(calls), np.bool_)
    if not view.windows or not loads.any():
        return forever
    start = min(int(w.window.starts[0]) for w in view.windows)
    end = max(int(w.window.ends[-1]) for w in view.windows)
    tenth = (calls.start_ns - start) * 10 // max(end - start, 1)
    for process in np.unique(calls.process[loads]):
        mine = loads & (calls.process == process)
        late = np.unique(tenth[mine & (tenth >= 5) & (tenth < 10)])
        if len(late) >= STEADY_TENTHS:
            forever |= mine & (tenth >= 0)
    return forever


def overhead_rows(view: View, *kinds: OverheadKind) -> Int64Array:
    """Rows of the overhead records of these kinds; none when the table was not collected."""
    overheads = view.find(Overheads)
    if overheads is None:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.isin(overheads.kind, kinds))
