"""Steps that every event table shares: leave out rows without usable times, sort the rest, give ids their index."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.ingest.export_codes import Mask
from stallscope.ingest.export_rows import Rows
from stallscope.ingest.limits import TIME_NS
from stallscope.ingest.nsys_registry import Registry

Int32Array = npt.NDArray[np.int32]
Int64Array = npt.NDArray[np.int64]

NO_TIME, BACKWARDS, NO_DEVICE, NO_THREAD, IMPOSSIBLE = (
    "no timestamp",
    "end before start",
    "no device",
    "no thread",
    "impossible timestamp",
)

MOST_DEVICES = 1 << 16
NOWHERE = -1
"""Device of an activity that names none."""


@dataclass(frozen=True, slots=True)
class Placed:
    """Rows of a device activity with the process and the (provisional) device of each."""

    rows: Rows
    process: Int32Array
    device: Int32Array


def device_spans(registry: Registry, table: str, rows: Rows) -> Placed:
    """Rows of a device activity with usable times and a device, sorted by start."""
    return with_device(registry, table, spans(registry, table, rows))


def spans(registry: Registry, table: str, rows: Rows) -> Rows:
    """Rows of a CUPTI activity with usable times, sorted by start.

    CUPTI writes 0 where it could not collect a timestamp, so a row at or before 0 has no time, unless the export
    shifted its clock.
    """
    rows = _without(registry, table, rows, NO_TIME, rows.missing("start", "end"))
    if registry.clock_shifted:
        rows = _without(registry, table, rows, NO_TIME, _both_zero(rows))
    elif _least(rows) <= 0:
        rows = _without(registry, table, rows, NO_TIME, (rows.values("start") <= 0) | (rows.values("end") <= 0))
    return _forwards(registry, table, rows).sorted_by("start")


def with_device(registry: Registry, table: str, rows: Rows) -> Placed:
    """Rows that name a device; CUPTI writes 2^31 - 1 for "on the host"."""
    devices = rows.codes("deviceId")
    usable = [0 <= device <= MOST_DEVICES for device in devices.distinct]
    if not all(usable) or devices.lacking() is not None:
        rows = _without(registry, table, rows, NO_DEVICE, devices.mapped(usable, 0, np.bool_) == 0)
    process = registry.process(rows.codes("globalPid"))
    return Placed(rows, process, registry.device(process, rows.codes("deviceId")))


def host_spans(registry: Registry, table: str, rows: Rows) -> Rows:
    """Rows of a host activity with usable times and a thread, sorted by start."""
    return host_spans_as_written(registry, table, rows).sorted_by("start")


def host_spans_as_written(registry: Registry, table: str, rows: Rows) -> Rows:
    """The same in the order of the file."""
    rows = _without(registry, table, rows, NO_TIME, rows.missing("start", "end"))
    rows = _forwards(registry, table, _without(registry, table, rows, NO_TIME, _both_zero(rows)))
    return with_thread(registry, table, rows)


def with_thread(registry: Registry, table: str, rows: Rows) -> Rows:
    """Rows that name a thread."""
    return _without(registry, table, rows, NO_THREAD, rows.codes("globalTid").lacking())


def timed(registry: Registry, table: str, rows: Rows, column: str) -> Rows:
    """Rows of an instant event that has a time, sorted by it."""
    rows = _without(registry, table, rows, NO_TIME, rows.missing(column))
    return _without(registry, table, rows, IMPOSSIBLE, _beyond(rows, column)).sorted_by(column)


def _forwards(registry: Registry, table: str, rows: Rows) -> Rows:
    rows = _without(registry, table, rows, BACKWARDS, rows.values("end") < rows.values("start"))
    beyond = [mask for mask in (_beyond(rows, "start"), _beyond(rows, "end")) if mask is not None]
    return _without(registry, table, rows, IMPOSSIBLE, np.logical_or.reduce(beyond) if beyond else None)


def _both_zero(rows: Rows) -> Mask | None:
    if _least(rows) > 0:
        return None
    found: Mask = (rows.values("start") == 0) & (rows.values("end") == 0)
    return found


def _least(rows: Rows) -> int:
    return min(int(rows.values(name).min()) for name in ("start", "end")) if len(rows) else 1


def _beyond(rows: Rows, column: str) -> Mask | None:
    times = rows.values(column)
    if not len(times) or (times.min() > -TIME_NS and times.max() < TIME_NS):
        return None
    found: Mask = (times <= -TIME_NS) | (times >= TIME_NS)
    return found


def _without(registry: Registry, table: str, rows: Rows, reason: str, bad: Mask | None) -> Rows:
    if bad is None or not bad.any():
        return rows
    registry.quality.drop(table, reason, int(bad.sum()))
    return rows.only(~bad)


def latest(times: npt.NDArray[np.int64]) -> int:
    """Greatest of some times; 0 when there is none."""
    return int(times.max()) if times.size else 0
