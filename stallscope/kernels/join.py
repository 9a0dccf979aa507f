"""Joins profiled kernels with the launches of a trace: ncu says why a kernel is slow, nsys how much of the step it is.

A kernel is the same when its normalised name, grid, block, registers and shared memory agree; the k-th profiled launch
of a signature is the k-th launch in the trace where the counts agree. Context, stream and correlation ids belong to one
run and are never compared. ncu's durations are never used as importance: it serialises, flushes caches and may lock
clocks.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stallscope.kernels import metrics as m
from stallscope.kernels.readings import value_of
from stallscope.model.counters import Dim3, KernelCounters
from stallscope.model.events import Kernels
from stallscope.model.names import Names

MIN_MATCHED = 0.80
REGISTER_STEP = 8
"""Registers are allocated in steps of eight a thread; the tools differ in whether they round."""
SHARED_STEP = 1024
"""The driver reserves up to 1 KiB of a block's shared memory, which one tool counts and the other does not."""

_CAST = re.compile(r"\((?:unsigned |signed )?(?:int|long|short|char|bool|long long)\)\s*(?=-?\d|true|false)")
_SPACES = re.compile(r"\s+")
_ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>|\{anonymous\}|_GLOBAL__N__\w+")
_SCOPES = re.compile(r"(?:[A-Za-z_@]\w*::|@::)+")
_LITERAL = re.compile(r"(?<=\d)(?:u|U|l|L|ul|UL|ll|LL|ull|ULL)\b")

Int64Array = npt.NDArray[np.int64]
Shape = tuple[str, Dim3, Dim3]


@dataclass(frozen=True, slots=True)
class InTrace:
    """What the trace says about one kernel: launches, their time, and the part in which no other kernel ran."""

    launches: int
    time_ns: int
    exposed_ns: int
    first_start_ns: int


@dataclass(frozen=True, slots=True)
class Join:
    """Profiled kernels found in the trace, and what neither side could place.

    `matched` is the share of the profiled time that the trace knows; `profiled` the share of the trace's kernel time
    that ncu looked at. Below MIN_MATCHED the join is `refused` and nothing may be scaled by it.
    """

    kernels: dict[Shape, InTrace]
    matched: float
    profiled: float
    unmatched_names: tuple[str, ...]
    window_ns: int

    @property
    def refused(self) -> bool:
        """Whether too much of the profiled time is missing from the trace."""
        return self.matched < MIN_MATCHED


def normalised(name: str) -> str:
    """A kernel's name without what differs between tools: return type, parameters, casts, blanks, scopes.

    ncu 2024.3 and newer drop inner namespaces (`at::native::templates::cuda::f` becomes `templates::f`).
    """
    name = _ANONYMOUS.sub("@", name).removeprefix("void ")
    name = _strip_parameters(name)
    name = _LITERAL.sub("", _CAST.sub("", name))
    return _SPACES.sub("", _SCOPES.sub("", name))


def _strip_parameters(name: str) -> str:
    """Cut the parameter list: the first parenthesis outside template arguments, operator() apart."""
    depth = 0
    for at, character in enumerate(name):
        if character == "<":
            depth += 1
        elif character == ">" and name[at - 1 : at] != "-":
            depth -= depth > 0
        elif character == "(" and depth == 0 and not name[:at].rstrip().endswith("operator"):
            return name[:at]
    return name


def join(profiled: tuple[KernelCounters, ...], kernels: Kernels, names: Names, window_ns: int) -> Join:
    """Look up every profiled kernel in the trace."""
    rows = _rows_by_shape(kernels, names)
    exposed = exposed_ns(kernels)
    found: dict[Shape, InTrace] = {}
    time_matched = time_profiled = 0.0
    missing: dict[str, float] = defaultdict(float)
    for shape, group in _by_shape(profiled).items():
        spent = sum((value_of(one, m.DURATION_NS) or 0.0) * one.launches for one in group)
        time_profiled += spent
        at = _resources(group[0], rows.get(shape), kernels)
        if at is None:
            missing[group[0].name] += spent
            continue
        time_matched += spent
        found[group[0].signature] = InTrace(
            launches=len(at),
            time_ns=int((kernels.end_ns[at] - kernels.start_ns[at]).sum()),
            exposed_ns=int(exposed[at].sum()),
            first_start_ns=int(kernels.start_ns[at].min()),
        )
    total = int((kernels.end_ns - kernels.start_ns).sum())
    return Join(
        kernels=found,
        matched=time_matched / time_profiled if time_profiled else 0.0,
        profiled=sum(one.time_ns for one in found.values()) / total if total else 0.0,
        unmatched_names=tuple(sorted(missing, key=lambda name: -missing[name])),
        window_ns=window_ns,
    )


def occurrences(profiled: tuple[KernelCounters, ...], kernels: Kernels, names: Names) -> dict[int, int]:
    """Position of a profiled launch → row in Kernels, for the signatures that both sides launch equally often."""
    rows = _rows_by_shape(kernels, names)
    paired: dict[int, int] = {}
    places: dict[Shape, list[int]] = defaultdict(list)
    for place, kernel in enumerate(profiled):
        places[_shape_of(kernel)].append(place)
    for shape, ours in places.items():
        theirs = rows.get(shape)
        if theirs is not None and len(theirs) == len(ours):
            paired |= {place: int(row) for place, row in zip(ours, theirs, strict=True)}
    return paired


def exposed_ns(kernels: Kernels) -> Int64Array:
    """For each kernel the time in which no other kernel runs on its device."""
    exposed = np.zeros(len(kernels), np.int64)
    for device in np.unique(kernels.device):
        rows = np.flatnonzero(kernels.device == device)
        start, end = kernels.start_ns[rows], kernels.end_ns[rows]
        times = np.concatenate([start, end])
        step = np.concatenate([np.ones(len(rows), np.int64), -np.ones(len(rows), np.int64)])
        order = np.argsort(times, kind="stable")
        times, active = times[order], np.cumsum(step[order])
        alone = np.concatenate([[0], np.cumsum(np.where(active[:-1] == 1, np.diff(times), 0))])
        at_start, at_end = np.searchsorted(times, start), np.searchsorted(times, end)
        exposed[rows] = alone[at_end] - alone[at_start]
    return exposed


def _shape_of(kernel: KernelCounters) -> Shape:
    return normalised(kernel.name), kernel.grid, kernel.block


def _by_shape(profiled: tuple[KernelCounters, ...]) -> dict[Shape, list[KernelCounters]]:
    groups: dict[Shape, list[KernelCounters]] = defaultdict(list)
    for kernel in profiled:
        groups[_shape_of(kernel)].append(kernel)
    return groups


def _rows_by_shape(kernels: Kernels, names: Names) -> dict[Shape, Int64Array]:
    """Rows of the trace by normalised name, grid and block, in order of their start."""
    known = {int(name): normalised(names[int(name)]) for name in np.unique(kernels.full_name)}
    columns = (kernels.grid_x, kernels.grid_y, kernels.grid_z, kernels.block_x, kernels.block_y, kernels.block_z)
    keys = np.stack([kernels.full_name, *columns], axis=1)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    edges = np.searchsorted(inverse[order], np.arange(len(unique) + 1))
    found: dict[Shape, list[Int64Array]] = defaultdict(list)
    for at, key in enumerate(unique):
        name, gx, gy, gz, bx, by, bz = (int(value) for value in key)
        found[known[name], (gx, gy, gz), (bx, by, bz)].append(order[edges[at] : edges[at + 1]])
    return {shape: np.sort(np.concatenate(parts)) for shape, parts in found.items()}


def _resources(kernel: KernelCounters, rows: Int64Array | None, kernels: Kernels) -> Int64Array | None:
    """The rows whose registers and shared memory fit the profiled kernel; None when there is none."""
    if rows is None or not len(rows):
        return None
    fits = np.ones(len(rows), np.bool_)
    registers = value_of(kernel, m.REGISTERS)
    if registers is not None:
        recorded = kernels.registers[rows]
        fits &= (recorded == 0) | (np.abs(recorded - registers) < REGISTER_STEP)
    static, dynamic = value_of(kernel, m.STATIC_SHARED), value_of(kernel, m.DYNAMIC_SHARED)
    if static is not None and dynamic is not None:
        fits &= np.abs(kernels.shared_bytes[rows] - (static + dynamic)) <= SHARED_STEP
    return rows[fits] if fits.any() else None
