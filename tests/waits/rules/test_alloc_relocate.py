"""alloc.relocate: what it states, both sides of its limits, and sizes that look alike."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import charges, evidence, finding

from stallscope.model.events import CopyKind, MemoryKind

RELOCATE = "alloc.relocate"
COPIES, KERNELS = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_KERNEL"
KIB = 1 << 10


def copies(
    *sizes_kib: float, kind: CopyKind = CopyKind.DEVICE_TO_DEVICE, streams: tuple[int, ...] = (7,)
) -> TraceBuilder:
    """Copies of these sizes, 1 µs for 10 KiB, with a kernel behind each; on each stream one behind another."""
    build = TraceBuilder()
    t = 0.0
    for size in sizes_kib:
        for stream in streams:
            length = size / 10
            build.copy(t, t + length, size=int(size * KIB), kind=kind, source=MemoryKind.DEVICE, stream=stream)
            build.kernel(t + length, t + length + 50)
            t += length + 50
    return build


def grows(count: int, first: int = 100, by: int = 100) -> list[int]:
    return [first + by * i for i in range(count)]


def test_growing_copies_state_their_number_time_and_growth() -> None:
    build = copies(*grows(8))
    assert charges(build) == {RELOCATE: 360}
    assert evidence(build, RELOCATE) == {
        "growing device-to-device copies": (8, "count", COPIES),
        "growing concatenations": (0, "count", KERNELS),
        "time in them": (360 * US, "ns", COPIES),
        "longest against shortest": (8.0, "ratio", COPIES),
    }
    found = finding(build, RELOCATE)
    assert found.evidence_level == "supported"
    assert (found.recoverable_ns.low, found.recoverable_ns.high) == (180 * US, 360 * US)


def concatenations(count: int, name: str = "CatArrayBatchedCopy") -> TraceBuilder:
    """Kernels of 10, 20, 30 … µs."""
    build = TraceBuilder()
    t = 0
    for i in range(1, count + 1):
        build.kernel(t, t + 10 * i, name=name)
        t += 10 * i
        build.kernel(t, t + 50, name="attention")
        t += 50
    return build


def test_growing_concatenations_are_counted_from_kernels() -> None:
    assert charges(concatenations(8)) == {RELOCATE: 360}
    assert evidence(concatenations(8), RELOCATE) == {
        "growing device-to-device copies": (0, "count", KERNELS),
        "growing concatenations": (8, "count", KERNELS),
        "time in them": (360 * US, "ns", KERNELS),
        "longest against shortest": (8.0, "ratio", KERNELS),
    }


@pytest.mark.parametrize("name", ["concat_kernel", "triton_poi_fused_cat_0"])
def test_concatenations_of_other_libraries_are_known_by_name(name: str) -> None:
    assert charges(concatenations(8, name)) == {RELOCATE: 360}
    assert charges(concatenations(8, "gemm")) == {}


@pytest.mark.parametrize(("count", "found"), [(8, True), (7, False)])
def test_eight_sizes_are_growth(count: int, *, found: bool) -> None:
    assert (RELOCATE in charges(copies(*grows(count)))) is found


@pytest.mark.parametrize(("last", "found"), [(1_500, True), (1_499, False)])
def test_the_buffer_becomes_half_as_large_again(last: int, *, found: bool) -> None:
    sizes = [1_000, 1_070, 1_140, 1_210, 1_280, 1_350, 1_420, last]
    assert (RELOCATE in charges(copies(*sizes))) is found


@pytest.mark.parametrize(("first", "count"), [(64, 8), (64 - 1 / KIB, 7)])
def test_copies_below_64_kib_do_not_count(first: float, count: int) -> None:
    """Eight sizes are needed: without the first copy only seven are left."""
    build = copies(first, *grows(7, 164))
    assert (RELOCATE in charges(build)) is (count == 8)


def test_a_size_at_half_of_the_largest_continues_and_below_it_starts_anew() -> None:
    """Two requests: the second starts at a fifth of the first's largest and is a line of its own."""
    build = copies(*grows(10, 200), *grows(4, 200))
    assert charges(build)[RELOCATE] == sum(grows(10, 200) + grows(4, 200)) / 10


@pytest.mark.parametrize(("again", "found"), [(3, True), (2, False)])
def test_a_further_request_counts_from_three_sizes_on(again: int, *, found: bool) -> None:
    build = copies(*grows(10, 200), *grows(again, 200))
    assert charges(build)[RELOCATE] == sum(grows(10, 200) + (grows(again, 200) if found else [])) / 10


def test_the_part_appended_with_every_growth_stays_a_copy() -> None:
    sizes = [size for whole in grows(10, 200) for size in (whole, 70)]
    found = charges(copies(*sizes))
    assert found == {RELOCATE: sum(grows(10, 200)) / 10, "copy.exposed": 70}


def test_buffers_of_two_streams_grow_each_on_its_own_line() -> None:
    assert charges(copies(*grows(8), streams=(7, 8))) == {RELOCATE: 720}


def test_shrinking_copies_and_copies_of_another_kind_are_none() -> None:
    assert RELOCATE not in charges(copies(*reversed(grows(16, 1_600))))
    assert RELOCATE not in charges(copies(*grows(16), kind=CopyKind.HOST_TO_DEVICE))
