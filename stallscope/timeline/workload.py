"""What a run did, counted so that a second run can be held against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from stallscope.model.events import Copies, CopyKind, MemoryKind
from stallscope.model.workload import CopyWork, StepSeries, Workload
from stallscope.timeline.calls import HostCalls
from stallscope.timeline.grouping import groups
from stallscope.timeline.intervals import Int64Array, IntervalSet
from stallscope.timeline.kernel_work import kernel_work
from stallscope.timeline.step_bounds import StepBounds, step_bounds
from stallscope.timeline.timeline import Timeline

MAX_STEPS = 400

Charges = Mapping[int, Mapping[str, IntervalSet]]
"""What the ledger charged: device index → wait id → disjoint intervals."""


class Counted(NamedTuple):
    """What the run did, without its waits, and where its steps begin and end."""

    work: Workload
    bounds: StepBounds | None


def count_work(timeline: Timeline) -> Counted:
    """Kernels, copies and calls of one trace."""
    bounds = step_bounds(timeline)
    work = Workload(
        kernels=kernel_work(timeline, bounds),
        copies=_copies(timeline),
        api_calls=_api_calls(timeline),
        environment=_environment(timeline),
    )
    return Counted(work, bounds)


def with_steps(counted: Counted, timeline: Timeline, charges: Charges) -> Workload:
    """The same with the ledger of every step; without steps where none were found."""
    if counted.bounds is None:
        return counted.work
    return msgspec.structs.replace(counted.work, steps=_series(timeline, counted.bounds, charges))


def _series(timeline: Timeline, bounds: StepBounds, charges: Charges) -> StepSeries | None:
    count = bounds.count
    durations = np.zeros(count, np.int64)
    waits: dict[str, Int64Array] = {}
    for window in timeline.windows:
        edges = bounds.edges.get(window.device)
        if edges is None:
            continue
        starts, ends = edges[:count], edges[1 : count + 1]
        durations += window.window.covered(starts, ends)
        for wait, intervals in charges.get(window.device, {}).items():
            waits[wait] = waits.get(wait, np.zeros(count, np.int64)) + intervals.covered(starts, ends)
    inside = durations > 0
    if not inside.any():
        return None
    devices, group = len(bounds.edges), -(-int(inside.sum()) // MAX_STEPS)
    per_wait = {wait: _mean(values[inside], devices, group) for wait, values in sorted(waits.items()) if values.any()}
    total = sum(per_wait.values()) if per_wait else _mean(durations[inside], devices, group)
    return StepSeries(
        name=bounds.name,
        basis=bounds.basis,
        durations_ns=tuple(np.asarray(total).tolist()),
        waits_ns={wait: tuple(values.tolist()) for wait, values in per_wait.items()},
        devices=devices,
        group=group,
    )


def _mean(values: Int64Array, devices: int, group: int) -> Int64Array:
    """Mean over devices and over `group` consecutive steps; a rest shorter than a group is left out."""
    whole = values[: len(values) // group * group].reshape(-1, group).sum(axis=1)
    return np.asarray(whole // (devices * group), np.int64)


def _copies(timeline: Timeline) -> tuple[CopyWork, ...]:
    table = timeline.trace.table(Copies)
    if table is None or not len(table):
        return ()
    same = groups(table.kind, table.source_kind, table.target_kind)
    counts, moved, time_ns = same.sizes(), same.sums(table.bytes), same.sums(table.end_ns - table.start_ns)
    kinds = [(int(table.kind[row]), int(table.source_kind[row]), int(table.target_kind[row])) for row in same.first]
    return tuple(
        CopyWork(
            direction=CopyKind(kind).name.lower(),
            source=MemoryKind(source).name.lower(),
            target=MemoryKind(target).name.lower(),
            copies=int(counts[group]),
            bytes=int(moved[group]),
            time_ns=int(time_ns[group]),
        )
        for (kind, source, target), group in sorted(zip(kinds, range(len(kinds)), strict=True))
    )


def _api_calls(timeline: Timeline) -> dict[str, int]:
    calls = timeline.calls
    if not len(calls):
        return {}
    counts = np.bincount(calls.read("name"))
    counts -= np.bincount(calls.at(HostCalls.name, np.flatnonzero(~calls.outer)), minlength=len(counts))  # few
    return {timeline.trace.names[n]: int(counts[n]) for n in np.flatnonzero(counts)}


def _environment(timeline: Timeline) -> dict[str, str]:
    """Allow-list: model and number of the GPUs that worked, their capability, the driver."""
    trace = timeline.trace
    used = [trace.devices[window.device] for window in timeline.windows]
    found = {
        "gpu": ", ".join(sorted({d.name for d in used if d.name})),
        "gpus": str(len(used)) if used else "",
        "compute_capability": ", ".join(sorted({d.compute_capability for d in used if d.compute_capability})),
        "driver": trace.capture.driver_version,
        "cuda_driver": trace.capture.cuda_driver_version,
        "graph_trace": trace.capture.graph_trace,
        "format": trace.source.format,
        "producer": trace.source.producer,
    }
    return {key: value for key, value in found.items() if value}
