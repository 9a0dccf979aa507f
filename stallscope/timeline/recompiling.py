"""Loading of code that never stops because it is compiled anew: recompilation, not warm-up and not plain reloading."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.names import Names
from stallscope.timeline.calls import LAUNCHES, CallIndex, HostCalls
from stallscope.timeline.intervals import is_one_of
from stallscope.timeline.rows import picked
from stallscope.timeline.windows import DeviceWindow

LOADS_DATA = r"^(cu|hip)(Module|Library)LoadData|^cuModuleLoadFatBinary|^cudaLibraryLoadData"
STEADY_TENTHS = 3
"""Code that is loaded in this many different tenths of the second half of a window is being rebuilt, not warmed up."""
COMPILES_NS = 5_000_000
"""Compiling takes at least this long, in the load call (PTX) or on the host before it (a compiler in the program).

PTX of one small loop takes 24 ms on the host of an H200, nvrtc and Triton tens of milliseconds. Loading its machine
code takes 50 µs, and 1.1 ms under the profiler.
"""


def recompiles(calls: HostCalls, names: Names, windows: tuple[DeviceWindow, ...]) -> npt.NDArray[np.bool_]:
    """Per row of `HostCalls`: an image is loaded behind a compilation, and that goes on in the steady state."""
    loads = picked(names.matching(LOADS_DATA), calls.read("name"))
    forever = np.zeros(len(calls), np.bool_)
    if not windows or not loads.any():
        return forever
    rows = np.flatnonzero(loads)
    compiled = np.zeros(len(calls), np.bool_)
    compiled[rows] = np.maximum(calls.end_ns[rows] - calls.start_ns[rows], _host_before(calls, rows)) >= COMPILES_NS
    start = min(int(w.window.starts[0]) for w in windows)
    end = max(int(w.window.ends[-1]) for w in windows)
    tenth = (calls.start_ns - start) * 10 // max(end - start, 1)
    caller = calls.read("process")
    for process in np.unique(caller[rows]):
        mine = compiled & (caller == process)
        late = np.unique(tenth[mine & (tenth >= 5) & (tenth < 10)])
        if len(late) >= STEADY_TENTHS:
            forever |= mine & (tenth >= 0)
    return forever


def _host_before(calls: HostCalls, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Longest time outside API calls between the thread's last launch and each load; 0 where it launched nothing."""
    launches = np.flatnonzero(is_one_of(calls.kind, LAUNCHES))
    last = np.searchsorted(launches, rows) - 1
    launch = launches[np.maximum(last, 0)] if len(launches) else rows
    known = (last >= 0) & (calls.thread[launch] == calls.thread[rows])
    begin = np.where(known, calls.end_ns[launch], calls.start_ns[rows])
    end = np.maximum(calls.start_ns[rows], begin)
    return CallIndex(calls, np.flatnonzero(calls.outer)).longest_outside(calls.thread[rows], begin, end)
