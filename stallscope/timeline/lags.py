"""How long after its last precondition an operation starts.

Only what is typical of the hardware is taken over from the measurement: a launch takes microseconds to reach the
device, a queued operation starts about a microsecond after its predecessor. A longer delay has a cause; if no edge of
the model explains it, the replay must miss the measured time and say so, instead of having the delay built in.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.timeline.calls import HostCalls
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.operations import Operations
from stallscope.timeline.rows import RowArray

LONGEST_LAUNCH_NS = 50_000
"""Beyond the launch call itself, a longer way to an idle device is not a launch latency."""

LONGEST_DRAIN_NS = 20_000
"""A longer pause between queued operations of a stream is not drain and launch of the next one."""

_USUAL_LAUNCH_NS = 5_000
_USUAL_DRAIN_NS = 1_500


def launch_lags(operations: Operations, calls: HostCalls, launch: RowArray, previous: RowArray) -> Int64Array:
    """From the start of the launch call to the operation's start; 0 without a launch call.

    Where the stream was idle when the call began, the measured latency; else the usual one, never more than measured.
    """
    if not len(calls):
        return np.zeros(len(operations), np.int64)
    known = launch != NO_ROW
    row = np.maximum(launch, 0)
    called, length = calls.start_ns[row], calls.end_ns[row] - calls.start_ns[row]
    measured = operations.start_ns - called
    idle = known & _ended_by(operations, previous, called)
    plausible = measured <= length + LONGEST_LAUNCH_NS
    sample = measured[idle & plausible]
    usual = int(np.median(sample)) if len(sample) else _USUAL_LAUNCH_NS
    lag = np.where(idle & plausible, measured, np.minimum(measured, usual))
    return np.where(known, lag, 0).astype(np.int64)


def stream_lags(operations: Operations, calls: HostCalls, launch: RowArray, previous: RowArray) -> Int64Array:
    """From the end of the stream's previous operation to the operation's start; 0 without a previous one.

    Where the operation was queued in time, the measured pause if it is short; else the usual one, never more than
    measured. It is negative where operations of a stream overlap (programmatic dependent launch).
    """
    known = previous != NO_ROW
    ended = operations.end_ns[np.maximum(previous, 0)]
    measured = operations.start_ns - ended
    returned = calls.end_ns[np.maximum(launch, 0)] if len(calls) else operations.start_ns
    queued = known & (launch != NO_ROW) & (returned <= ended)
    short = measured <= LONGEST_DRAIN_NS
    sample = measured[queued & short]
    usual = int(np.median(sample)) if len(sample) else _USUAL_DRAIN_NS
    lag = np.where(queued & short, measured, np.minimum(measured, usual))
    return np.where(known, lag, 0).astype(np.int64)


def _ended_by(operations: Operations, previous: RowArray, times: Int64Array) -> npt.NDArray[np.bool_]:
    return np.asarray((previous == NO_ROW) | (operations.end_ns[np.maximum(previous, 0)] <= times))
