"""Calls that set a library up at its first use, where the trace shows nothing but a call to free memory.

cuDNN, cuBLAS and others begin with `cudaFree(0)`, which makes sure that there is a context, and load their code under
it: hundreds of milliseconds in a call that frees nothing. A call that really frees waits for the device and unmaps.
"""

from __future__ import annotations

import numpy as np

from stallscope.timeline.calls import CallKind, HostCalls
from stallscope.timeline.intervals import Int64Array
from stallscope.waits.base import View

SETUP_NS = 50_000_000
"""Beyond the wait for the device. Setting libraries up took 156 ms to 6 s on an RTX 2080 Ti and an A100. Releases are
shorter as a rule; a hipFree on an MI300X takes 24 to 68 ms, but there all are of this order."""
APART = 10
"""Calls taken for a set-up are this many times as long as the longest one that is not: releases come in all sizes."""
LIBRARIES = 4
"""A thread sets up a handful of libraries; more calls as long are a loop that frees."""


def setup_calls(view: View) -> Int64Array:
    """Rows in HostCalls of the calls to free memory under which a library was set up."""
    calls = view.calls
    frees = np.flatnonzero((calls.kind == CallKind.FREE) & calls.outer)
    own = _beyond_device_work(view, frees)
    long = own >= SETUP_NS
    caller = calls.at(HostCalls.process, frees)
    for process in np.unique(caller[long]):
        mine = caller == process
        usual = int(own[mine & ~long].max(initial=0))
        _, threads = np.unique(calls.thread[frees[mine & long]], return_counts=True)
        if own[mine & long].min() < APART * usual or threads.max() > LIBRARIES:
            long[mine] = False
    return frees[long]


def _beyond_device_work(view: View, rows: Int64Array) -> Int64Array:
    """Length of each call without the time in which some device worked: it may have waited for that one."""
    calls = view.calls
    length = calls.end_ns[rows] - calls.start_ns[rows]
    if not len(rows):
        return length
    worked = [window.busy.covered(calls.start_ns[rows], calls.end_ns[rows]) for window in view.windows]
    return np.asarray(length - np.max(worked, axis=0, initial=0)) if worked else length
