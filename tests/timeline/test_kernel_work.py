"""Kernels of a run by name, shape and place: exact numbers on small traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from build import US, TraceBuilder

from stallscope.model.events import Kernels
from stallscope.model.workload import KernelWork
from stallscope.timeline import kernel_work as module
from stallscope.timeline.kernel_work import kernel_work, signature
from stallscope.timeline.step_bounds import StepBounds
from stallscope.timeline.timeline import Timeline


def kernel(build: TraceBuilder, start: float, end: float, **columns: Any) -> None:
    """A row of Kernels in which every column can be told; names as text."""
    name = columns.pop("name", "k")
    row = {
        "device": 0, "process": build.process(1), "context": 1, "stream": 7, "correlation": 0, "registers": 32,
        "shared_bytes": 0, "local_bytes": 0, "graph_node": 0, "grid_x": 1, "grid_y": 1, "grid_z": 1, "block_x": 1,
        "block_y": 1, "block_z": 1, **columns,
    }  # fmt: skip
    row["full_name"] = build.name(row.get("full_name", name))
    build.row(Kernels, start_ns=round(start * US), end_ns=round(end * US), name=build.name(name), **row)


def work_of(build: TraceBuilder, bounds: StepBounds | None = None) -> tuple[KernelWork, ...]:
    return kernel_work(Timeline(build.trace()), bounds)


def times(found: tuple[KernelWork, ...]) -> list[tuple[str, int, int]]:
    return [(w.kernel, w.launches, w.time_ns // US) for w in found]


def test_a_group_has_its_launches_time_deviation_and_largest_resources() -> None:
    """Durations 10, 20 and 40 µs: mean 23.333 µs, sample deviation 15,275.252 ns."""
    build = TraceBuilder()
    for start, length, registers, shared in ((0, 10, 40, 5), (50, 20, 48, 900), (100, 40, 32, 7)):
        kernel(build, start, start + length, registers=registers, shared_bytes=shared)
    for start, length in ((200, 1), (210, 3)):
        kernel(build, start, start + length, name="twice")
    kernel(build, 300, 301, name="once")
    (first, twice, once) = work_of(build)
    assert (first.launches, first.time_ns, first.deviation_ns) == (3, 70 * US, 15_275.3)
    assert (first.step_launches, first.step_time_ns) == (3, 70 * US)
    assert (first.registers, first.shared_bytes) == (48, 900)
    assert (twice.launches, twice.time_ns, twice.deviation_ns) == (2, 4 * US, 1_414.2)
    assert (once.launches, once.time_ns, once.deviation_ns) == (1, US, 0.0)
    assert (once.registers, once.shared_bytes) == (32, 0)


def test_shape_and_names_are_told_as_recorded() -> None:
    build = TraceBuilder()
    kernel(build, 0, 5, name="gemm", full_name="gemm<float>", grid_x=2, grid_y=3, grid_z=4, block_x=5, block_y=6, block_z=7)  # fmt: skip # noqa: E501
    (found,) = work_of(build)
    assert (found.kernel, found.grid, found.block, found.nvtx) == ("gemm", (2, 3, 4), (5, 6, 7), ())
    assert found.signature == signature("gemm<float>", [2, 3, 4, 5, 6, 7]) == "0a7ef67d20f1"


@pytest.mark.parametrize(
    "difference",
    [{axis: 2} for axis in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")] + [{"full_name": "k<int>"}],
)
def test_another_shape_or_full_name_is_another_kernel(difference: dict[str, Any]) -> None:
    build = TraceBuilder()
    kernel(build, 0, 5)
    kernel(build, 10, 12, **difference)
    kernel(build, 20, 22, registers=99)
    found = work_of(build)
    assert times(found) == [("k", 2, 7), ("k", 1, 2)]
    assert found[0].signature != found[1].signature


def test_most_time_comes_first_and_ties_go_by_shape_and_place() -> None:
    """Equal times: by name as the trace numbers them, then grid, then block, then place."""
    build = TraceBuilder()
    build.nvtx("b", 0, 10)
    build.nvtx("a", 20, 30)
    shapes: list[tuple[int, dict[str, Any]]] = [
        (2, {"block_x": 2}),
        (22, {"grid_y": 2}),
        (24, {}),
        (4, {}),
        (40, {}),
        (50, {"name": "late"}),
    ]
    for correlation, (start, shape) in enumerate(shapes, start=1):
        build.launch(start, start + 0.5, correlation=correlation)
        kernel(build, 100 * correlation, 100 * correlation + 9, correlation=correlation, **shape)
    kernel(build, 1_000, 1_010, name="long")
    found = work_of(build)
    assert [(w.kernel, w.grid[1], w.block[0], w.nvtx) for w in found] == [
        ("long", 1, 1, ()),
        ("k", 1, 1, ()),
        ("k", 1, 1, ("a",)),
        ("k", 1, 1, ("b",)),
        ("k", 1, 2, ("b",)),
        ("k", 2, 1, ("a",)),
        ("late", 1, 1, ()),
    ]


def test_the_place_is_the_path_of_the_launching_thread() -> None:
    """A thread without ranges borrows the annotated thread's; a kernel without a launch has no place."""
    build = TraceBuilder()
    build.nvtx("step", 0, 100)
    build.nvtx("forward", 10, 50)
    for correlation, (at, thread) in enumerate([(5, 1), (20, 1), (30, 2), (150, 1)], start=1):
        build.launch(at, at + 1, correlation=correlation, thread=thread)
        kernel(build, 200 + 10 * correlation, 200 + 11 * correlation, correlation=correlation)
    kernel(build, 300, 305)
    assert {w.nvtx: (w.launches, w.time_ns // US) for w in work_of(build)} == {
        (): (2, 9),
        ("step",): (1, 1),
        ("step", "forward"): (2, 5),
    }


def test_copies_are_no_kernels_and_communication_is() -> None:
    build = TraceBuilder()
    build.copy(0, 50)
    build.memset(50, 60)
    kernel(build, 60, 65, name="ncclDevKernel_AllReduce")
    kernel(build, 70, 73)
    assert times(work_of(build)) == [("ncclDevKernel_AllReduce", 1, 5), ("k", 1, 3)]


@pytest.mark.parametrize("copies", [0, 1])
def test_without_kernels_there_is_no_work(copies: int) -> None:
    build = TraceBuilder()
    for _ in range(copies):
        build.copy(0, 50)
        build.collected(Kernels)
    assert work_of(build) == ()


def test_the_part_inside_the_steps_is_by_start_on_each_device() -> None:
    """Two steps from 10 to 30 µs on device 0 and from 20 to 50 on device 1, whose third one the other has not."""
    build = TraceBuilder(devices=2)
    for device in (0, 1):
        for start in (9, 10, 20, 29, 30, 31, 49, 50, 59)[device:]:
            kernel(build, start, start + 0.5 + device, device=device, grid_x=1 + device)
    edges = {0: np.array([10, 20, 30]) * US, 1: np.array([20, 30, 50, 60]) * US}
    found = work_of(build, StepBounds("step", "nvtx", edges))
    inside = {w.grid[0]: (w.launches, w.step_launches, w.step_time_ns) for w in found}
    assert inside == {1: (9, 3, 1_500), 2: (8, 5, 7_500)}


@pytest.mark.parametrize(("most", "places"), [(4, {("a",), ("b",)}), (3, {()})])
def test_too_many_groups_lose_their_places(monkeypatch: pytest.MonkeyPatch, most: int, places: set[tuple[str]]) -> None:
    """Two kernels in two places are four groups. Without the places the time of each kernel is one."""
    monkeypatch.setattr(module, "MAX_KERNELS", most)
    build = TraceBuilder()
    for correlation, (place, name) in enumerate([("a", "k"), ("a", "l"), ("b", "k"), ("b", "l")], start=1):
        at = 20 * correlation
        build.nvtx(place, at, at + 10)
        build.launch(at + 1, at + 2, correlation=correlation)
        kernel(build, at + 3, at + 3 + correlation, name=name, correlation=correlation)
    found = work_of(build)
    assert {w.nvtx for w in found} == places
    assert sum(w.time_ns for w in found) == 10 * US
    assert [w.launches for w in found] == [4 // len(found)] * len(found)


def test_only_the_500_largest_kernels_are_told() -> None:
    build = TraceBuilder()
    for size in range(1, 502):
        kernel(build, 1_000 * size, 1_001 * size, grid_x=size)
    assert [w.grid[0] for w in work_of(build)] == list(range(501, 1, -1))


def test_without_calls_kernels_have_no_place() -> None:
    build = TraceBuilder()
    build.nvtx("step", 0, 100)
    kernel(build, 10, 20)
    assert [w.nvtx for w in work_of(build)] == [()]
