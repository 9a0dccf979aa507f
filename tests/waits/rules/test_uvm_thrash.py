"""uvm.thrash: round trips of 2 MiB blocks, to the last trip and nanosecond."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import charges, evidence, finding

from stallscope.model.events import CopyKind, MigrationCause

THRASH, TABLE = "uvm.thrash", "CUPTI_ACTIVITY_KIND_MEMCPY"
NS = 0.001
BLOCK = 2 << 20


def bounces(up: int, down: int, *addresses: int, apart_us: float = 10_000, back: int = 0) -> TraceBuilder:
    """Pages at these addresses: `up` moves of 100 µs to the device, each inside one long kernel, and `down` back."""
    build = TraceBuilder()
    build.kernel(0, 200_000)
    for n, address in enumerate(addresses):
        for i in range(up):
            at = 200 * n + apart_us * i
            build.migration(
                at, at + 100, kind=CopyKind.HOST_TO_DEVICE, cause=MigrationCause.PAGE_FAULT, address=address
            )
        for i in range(down):
            at = 5_000 + 200 * n + 10_000 * i
            build.migration(
                at, at + 100, kind=CopyKind.DEVICE_TO_HOST, cause=MigrationCause.PAGE_FAULT, address=address + back
            )
    return build


def test_blocks_and_bytes_are_stated() -> None:
    build = bounces(5, 4, 10 * BLOCK, 11 * BLOCK)
    assert charges(build)[THRASH] == 2 * 5 * 100
    assert evidence(build, THRASH) == {
        "2 MiB blocks that bounce": (2, "count", TABLE),
        "bytes moved to the device for them": (10 * 4096, "bytes", TABLE),
    }
    found = finding(build, THRASH)
    assert found.evidence_level == "supported"
    assert (found.recoverable_ns.low, found.recoverable_ns.high) == (300 * US, 1_000 * US)


@pytest.mark.parametrize(("up", "down", "found"), [(4, 4, True), (3, 4, False), (4, 3, False)])
def test_four_moves_each_way_are_thrashing(up: int, down: int, *, found: bool) -> None:
    assert (THRASH in charges(bounces(up, down, BLOCK))) is found


@pytest.mark.parametrize(("apart_us", "found"), [(1_000 + NS, True), (1_000, False)])
def test_moves_within_a_millisecond_are_one(apart_us: float, *, found: bool) -> None:
    assert (THRASH in charges(bounces(4, 4, BLOCK, apart_us=apart_us))) is found


@pytest.mark.parametrize(("back", "found"), [(BLOCK - 4096, True), (BLOCK, False)])
def test_pages_bounce_when_the_same_block_comes_back(back: int, *, found: bool) -> None:
    assert (THRASH in charges(bounces(4, 4, BLOCK, back=back))) is found


def test_a_page_that_stays_is_not_charged_beside_one_that_bounces() -> None:
    build = bounces(4, 4, BLOCK)
    build.migration(50_000, 50_500, kind=CopyKind.HOST_TO_DEVICE, cause=MigrationCause.PAGE_FAULT, address=9 * BLOCK)
    found = charges(build)
    assert (found[THRASH], found["uvm.fault_gpu"]) == (400, 500)


def test_migrations_without_an_address_are_no_block() -> None:
    assert THRASH not in charges(bounces(4, 4, 0))
