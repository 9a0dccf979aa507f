"""offload.exposed: what it states and both sides of its limits."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import charges, evidence, finding

from stallscope.model.events import CopyKind, MemoryKind

OFFLOAD = "offload.exposed"
TABLE = "CUPTI_ACTIVITY_KIND_MEMCPY"
MIB = 1 << 20


def layers(*sizes: int, steps: int = 0, **copy: object) -> TraceBuilder:
    """A copy of 100 µs in front of every kernel of 50 µs; with `steps` as many NVTX steps of equal length."""
    build = TraceBuilder()
    for i, size in enumerate(sizes):
        build.copy(150 * i, 150 * i + 100, size=size, stream=8, **copy)  # type: ignore[arg-type]
        build.kernel(150 * i + 100, 150 * i + 150)
    for step in range(steps):
        each = 150 * len(sizes) / steps
        build.nvtx("step", step * each, (step + 1) * each)
    return build


def test_bytes_sizes_and_rate_are_stated() -> None:
    build = layers(*[MIB] * 16, *[2 * MIB] * 16)
    assert charges(build) == {OFFLOAD: 3_200}
    assert evidence(build, OFFLOAD) == {
        "repeated copies from pinned host memory": (32, "count", TABLE),
        "distinct sizes": (2, "count", TABLE),
        "bytes moved": (48 * MIB, "bytes", TABLE),
        "their rate": (48 * MIB / 3.2e-3, "bytes/s", TABLE),
    }
    found = finding(build, OFFLOAD)
    assert (found.evidence_level, found.recoverable_ns.low, found.recoverable_ns.high) == ("indicated", 0, 3_200 * US)


@pytest.mark.parametrize(("size", "count", "found"), [(MIB, 16, True), (MIB - 1, 16, False), (MIB, 15, False)])
def test_a_mebibyte_sixteen_times_is_offloaded(size: int, count: int, *, found: bool) -> None:
    assert (OFFLOAD in charges(layers(*[size] * count))) is found


def test_only_the_sizes_that_repeat_are_charged() -> None:
    assert charges(layers(*[MIB] * 16, 3 * MIB)) == {OFFLOAD: 1_600, "copy.exposed": 100}


@pytest.mark.parametrize(("count", "found"), [(20, True), (19, False)])
def test_four_copies_a_step_are_layers_and_fewer_are_batches(count: int, *, found: bool) -> None:
    assert (OFFLOAD in charges(layers(*[MIB] * count, steps=5))) is found


@pytest.mark.parametrize(
    "copy",
    [{"kind": CopyKind.DEVICE_TO_HOST}, {"source": MemoryKind.PAGEABLE}],
    ids=["to the host", "from pageable memory"],
)
def test_other_copies_are_not_offloading(copy: dict[str, object]) -> None:
    assert OFFLOAD not in charges(layers(*[MIB] * 16, **copy))
