"""What a run did, counted so that a second run can be held against it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Copies, CopyKind, Kernels, MemoryKind
from stallscope.model.workload import CopyWork, KernelWork, StepSeries, Workload
from stallscope.timeline.intervals import Int64Array, IntervalSet
from stallscope.timeline.operations import OperationKind
from stallscope.timeline.step_bounds import StepBounds, step_bounds
from stallscope.timeline.timeline import Timeline

MAX_KERNELS = 500
MAX_STEPS = 400

_SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")

Charges = Mapping[int, Mapping[str, IntervalSet]]
"""What the ledger charged: device index → wait id → disjoint intervals."""


def measure_workload(timeline: Timeline, charges: Charges | None = None) -> Workload:
    """Kernels, copies, calls and steps of one trace; `charges` adds the ledger of every step."""
    bounds = step_bounds(timeline)
    return Workload(
        kernels=_kernels(timeline, bounds),
        copies=_copies(timeline),
        api_calls=_api_calls(timeline),
        steps=_series(timeline, bounds, charges or {}) if bounds is not None else None,
        environment=_environment(timeline),
    )


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


def _kernels(timeline: Timeline, bounds: StepBounds | None) -> tuple[KernelWork, ...]:
    table = timeline.trace.table(Kernels)
    operations = timeline.operations
    rows = np.flatnonzero((operations.kind == OperationKind.COMPUTE) | (operations.kind == OperationKind.COMMUNICATION))
    if table is None or not len(rows):
        return ()
    path, places = _paths(timeline, rows)
    taken = table.take(operations.row[rows])
    frame = taken.frame.select(
        "name", "full_name", *_SHAPE, "registers", "shared_bytes", (pl.col("end_ns") - pl.col("start_ns")).alias("ns")
    ).with_columns(pl.Series("path", path), pl.Series("inside", _inside_steps(timeline, rows, bounds)))
    grouped = _grouped(frame, "path")
    if len(grouped) > MAX_KERNELS:
        grouped = _grouped(frame.with_columns(path=pl.lit(0, pl.Int64)), "path").head(MAX_KERNELS)
        places = [()]
    return tuple(_kernel(timeline, row, places) for row in grouped.iter_rows(named=True))


def _inside_steps(timeline: Timeline, rows: npt.NDArray[np.intp], bounds: StepBounds | None) -> npt.NDArray[np.bool_]:
    """Operations that start between the first and the last step's bounds of their device; all of them without steps."""
    if bounds is None:
        return np.ones(len(rows), np.bool_)
    start, device = timeline.operations.start_ns[rows], timeline.operations.device[rows]
    inside = np.zeros(len(rows), np.bool_)
    for index, edges in bounds.edges.items():
        inside |= (device == index) & (start >= edges[0]) & (start < edges[bounds.count])
    return inside


def _grouped(frame: pl.DataFrame, place: str) -> pl.DataFrame:
    keys = ["name", "full_name", *_SHAPE, place]
    return (
        frame.group_by(keys)
        .agg(
            pl.len().alias("launches"),
            pl.col("ns").sum().alias("time_ns"),
            pl.col("inside").sum().alias("step_launches"),
            pl.col("ns").filter("inside").sum().alias("step_time_ns"),
            pl.col("ns").std().fill_null(0.0).alias("deviation_ns"),
            pl.col("registers").max(),
            pl.col("shared_bytes").max(),
        )
        .sort(["time_ns", *keys], descending=[True] + [False] * len(keys))
    )


def _kernel(timeline: Timeline, row: Mapping[str, int], places: list[tuple[str, ...]]) -> KernelWork:
    names, shape = timeline.trace.names, [row[axis] for axis in _SHAPE]
    full_name = names[row["full_name"]]
    return KernelWork(
        signature=signature(full_name, shape),
        kernel=names[row["name"]],
        grid=(shape[0], shape[1], shape[2]),
        block=(shape[3], shape[4], shape[5]),
        launches=row["launches"],
        time_ns=row["time_ns"],
        step_launches=row["step_launches"],
        step_time_ns=row["step_time_ns"],
        deviation_ns=round(row["deviation_ns"], 1),
        nvtx=places[row["path"]],
        registers=row["registers"],
        shared_bytes=row["shared_bytes"],
    )


def signature(full_name: str, shape: list[int]) -> str:
    """Twelve hex digits that stand for a demangled kernel name with its grid and block."""
    text = full_name + "|" + ",".join(map(str, shape))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _paths(timeline: Timeline, rows: npt.NDArray[np.intp]) -> tuple[Int64Array, list[tuple[str, ...]]]:
    """Index of each operation's NVTX path, and the distinct paths; 0 is the empty path."""
    call, tree = timeline.launch[rows], timeline.ranges
    nowhere: list[tuple[str, ...]] = [()]
    nothing = np.zeros(len(rows), np.int64), nowhere
    if not len(tree.ranges) or not len(timeline.calls):
        return nothing
    times = timeline.calls.start_ns[np.maximum(call, 0)]
    inner, _ = tree.at(timeline.launch_thread(rows), timeline.operations.process[rows], times)
    inner = np.where(call == NO_ROW, NO_ROW, inner)
    if not (inner != NO_ROW).any():
        return nothing
    keys = _path_keys(tree.ranges.name, tree.parent)
    wanted = np.where(inner == NO_ROW, np.uint64(0), keys[np.maximum(inner, 0)])
    distinct, first, index = np.unique(wanted, return_index=True, return_inverse=True)
    names = timeline.trace.names
    places = [tuple(names[n] for n in tree.path(int(inner[row]))) for row in first]
    if distinct[0] != 0:  # keep index 0 for "no range"
        return index.astype(np.int64) + 1, [(), *places]
    return index.astype(np.int64), places


def _path_keys(name: npt.NDArray[np.int32], parent: Int64Array) -> npt.NDArray[np.uint64]:
    """A hash of every range's path: equal paths, equal keys. As many rounds as ranges nest."""
    keys = np.zeros(len(name), np.uint64)
    own = (name.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    ready = np.flatnonzero(parent == NO_ROW)
    keys[ready] = own[ready] | np.uint64(1)
    pending = np.flatnonzero(parent != NO_ROW)
    while len(pending):
        known = keys[parent[pending]] != 0
        rows = pending[known]
        above = keys[parent[rows]]
        keys[rows] = ((above ^ (above >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9) + own[rows]) | np.uint64(1)
        pending = pending[~known]
    return keys


def _copies(timeline: Timeline) -> tuple[CopyWork, ...]:
    table = timeline.trace.table(Copies)
    if table is None or not len(table):
        return ()
    keys = ["kind", "source_kind", "target_kind"]
    grouped = (
        table.frame.group_by(keys)
        .agg(
            pl.len().alias("copies"),
            pl.col("bytes").sum(),
            (pl.col("end_ns") - pl.col("start_ns")).sum().alias("time_ns"),
        )
        .sort(keys)
    )
    return tuple(
        CopyWork(
            direction=CopyKind(row["kind"]).name.lower(),
            source=MemoryKind(row["source_kind"]).name.lower(),
            target=MemoryKind(row["target_kind"]).name.lower(),
            copies=row["copies"],
            bytes=row["bytes"],
            time_ns=row["time_ns"],
        )
        for row in grouped.iter_rows(named=True)
    )


def _api_calls(timeline: Timeline) -> dict[str, int]:
    calls = timeline.calls
    if not len(calls):
        return {}
    names, counts = np.unique(calls.name[calls.outer], return_counts=True)
    return {timeline.trace.names[n]: c for n, c in zip(names.tolist(), counts.tolist(), strict=True)}


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
