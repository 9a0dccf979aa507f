"""What the kernels of a run did, by kernel, shape and place of the program."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stallscope.model.columns import NO_ROW
from stallscope.model.events import Kernels
from stallscope.model.workload import KernelWork
from stallscope.timeline.grouping import Groups, groups, groups_up_to
from stallscope.timeline.intervals import Int64Array, is_one_of
from stallscope.timeline.operations import KERNEL_KINDS
from stallscope.timeline.rows import RowArray, picked
from stallscope.timeline.step_bounds import StepBounds
from stallscope.timeline.timeline import Timeline

MAX_KERNELS = 500

ROWS_AT_A_TIME = 500_000
"""What is known of all launches of a large trace together would fill gigabytes."""
_SHAPE = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")


def kernel_work(timeline: Timeline, bounds: StepBounds | None) -> tuple[KernelWork, ...]:
    """The kernels that took most time, largest first; without their places when there are too many of both."""
    table, operations = timeline.trace.table(Kernels), timeline.operations
    if table is None:
        return ()
    rows: RowArray = np.flatnonzero(is_one_of(operations.kind, KERNEL_KINDS)).astype(np.int32)
    row = picked(operations.row, rows)
    kernel = groups(picked(timeline.kernel_shapes.of, row), picked(operations.name, rows))
    path, places = _paths(timeline, rows)
    same = groups_up_to(MAX_KERNELS, kernel.of, path)
    if same is None:
        same, path, places = kernel, np.zeros(len(rows), np.int32), [()]
    length = picked(operations.end_ns, rows) - picked(operations.start_ns, rows)
    spent = _spent(same, length, _inside_steps(timeline, rows, bounds))
    names_and_shapes = [table.at(Kernels.COLUMNS[column], row[same.first]) for column in ("full_name", *_SHAPE)]
    keys = [operations.name[rows[same.first]], *names_and_shapes]
    place = path[same.first]
    largest = np.lexsort((place, *reversed(keys), -spent.time_ns))[:MAX_KERNELS]
    registers, shared = (_maxima(same, picked(table.read(name), row)) for name in ("registers", "shared_bytes"))
    names = timeline.trace.names
    return tuple(
        _kernel(
            (names[keys[0][g]], names[keys[1][g]], [int(key[g]) for key in keys[2:]], places[place[g]]),
            _Spent(*(values[g] for values in spent)),
            (int(registers[g]), int(shared[g])),
        )
        for g in largest
    )


class _Spent(NamedTuple):
    """Launches and time, whole and inside the steps, and the deviation of the durations; of one group or of all."""

    launches: Int64Array
    time_ns: Int64Array
    step_launches: Int64Array
    step_time_ns: Int64Array
    deviation_ns: npt.NDArray[np.float64]


def _spent(same: Groups, length: Int64Array, inside: npt.NDArray[np.bool_]) -> _Spent:
    launches, total = same.sizes(), same.sums(length)
    apart = picked(total / launches, same.of)
    np.subtract(length, apart, out=apart)
    np.square(apart, out=apart)
    variance = np.bincount(same.of, weights=apart, minlength=len(launches)) / np.maximum(launches - 1, 1)
    steps = Groups(same.of[inside], same.first)
    return _Spent(launches, total, steps.sizes(), steps.sums(length[inside]), np.sqrt(variance))


def _maxima(same: Groups, values: npt.NDArray[np.int32] | Int64Array) -> npt.NDArray[np.int32] | Int64Array:
    """Largest value of every group; mostly all its values are the same."""
    largest = values[same.first]
    other = np.flatnonzero(values != picked(largest, same.of))
    np.maximum.at(largest, same.of[other], values[other])
    return largest


def _inside_steps(timeline: Timeline, rows: RowArray, bounds: StepBounds | None) -> npt.NDArray[np.bool_]:
    """Operations that start between the first and the last step's bounds of their device; all of them without steps."""
    if bounds is None:
        return np.ones(len(rows), np.bool_)
    start, device = (picked(column, rows) for column in (timeline.operations.start_ns, timeline.operations.device))
    inside = np.zeros(len(rows), np.bool_)
    for index, edges in bounds.edges.items():
        inside |= (device == index) & (start >= edges[0]) & (start < edges[bounds.count])
    return inside


def _kernel(what: tuple[str, str, list[int], tuple[str, ...]], spent: _Spent, largest: tuple[int, int]) -> KernelWork:
    name, full_name, shape, place = what
    return KernelWork(
        signature=signature(full_name, shape),
        kernel=name,
        grid=(shape[0], shape[1], shape[2]),
        block=(shape[3], shape[4], shape[5]),
        launches=int(spent.launches),
        time_ns=int(spent.time_ns),
        step_launches=int(spent.step_launches),
        step_time_ns=int(spent.step_time_ns),
        deviation_ns=round(float(spent.deviation_ns), 1),
        nvtx=place,
        registers=largest[0],
        shared_bytes=largest[1],
    )


def signature(full_name: str, shape: list[int]) -> str:
    """Twelve hex digits that stand for a demangled kernel name with its grid and block."""
    text = full_name + "|" + ",".join(map(str, shape))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:12]


def _paths(timeline: Timeline, rows: RowArray) -> tuple[RowArray, list[tuple[str, ...]]]:
    """Index of each operation's NVTX path, and the distinct paths in the order of their texts."""
    call, tree = picked(timeline.launch, rows), timeline.ranges
    if not len(tree.ranges) or not len(timeline.calls):
        return np.zeros(len(rows), np.int32), [()]
    path, ranges = np.empty(len(rows), np.int32), dict[int, int]()
    for begin in range(0, len(rows), ROWS_AT_A_TIME):
        part = slice(begin, begin + ROWS_AT_A_TIME)
        inner, _ = tree.at(
            timeline.launch_thread(rows[part]),
            picked(timeline.operations.process, rows[part]),
            picked(timeline.calls.start_ns, np.maximum(call[part], 0)),
        )
        inner[call[part] == NO_ROW] = NO_ROW
        path[part] = tree.path_ids(inner)
        first = groups(path[part]).first
        # Any range of a path tells its names.
        ranges.update(zip(path[part][first].tolist(), inner[first].tolist(), strict=True))
    names = timeline.trace.names
    texts = {number: tuple(names[n] for n in tree.path(row)) for number, row in ranges.items()}
    order = sorted(texts, key=texts.__getitem__)  # by text: numbers depend on what the trace has seen first
    index = np.empty(max(order, default=NO_ROW) + 1, np.int32)
    index[order] = np.arange(len(order))
    return picked(index, path), [texts[number] for number in order]
