"""Loading of code that never stops: a program that builds its kernels anew instead of warming up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.names import Names
from stallscope.timeline.calls import HostCalls
from stallscope.timeline.windows import DeviceWindow

LOADS_DATA = r"^(cu|hip)(Module|Library)LoadData|^cuModuleLoadFatBinary|^cudaLibraryLoadData"
STEADY_TENTHS = 3
"""Code that is loaded in this many different tenths of the second half of a window is being rebuilt, not warmed up."""


def reloads(calls: HostCalls, names: Names, windows: tuple[DeviceWindow, ...]) -> npt.NDArray[np.bool_]:
    """Per row of `HostCalls`: an image is loaded, and loading goes on in the steady state of its process."""
    loads = names.matching(LOADS_DATA)[calls.name]
    forever = np.zeros(len(calls), np.bool_)
    if not windows or not loads.any():
        return forever
    start = min(int(w.window.starts[0]) for w in windows)
    end = max(int(w.window.ends[-1]) for w in windows)
    tenth = (calls.start_ns - start) * 10 // max(end - start, 1)
    for process in np.unique(calls.process[loads]):
        mine = loads & (calls.process == process)
        late = np.unique(tenth[mine & (tenth >= 5) & (tenth < 10)])
        if len(late) >= STEADY_TENTHS:
            forever |= mine & (tenth >= 0)
    return forever
