"""uvm.prefetch: the queue, and not the kernel, waits for pages that somebody asked for."""

from __future__ import annotations

from build import US, TraceBuilder
from diagnose import charges, evidence, finding, waits

from stallscope.model.events import CopyKind, MigrationCause, Migrations


def prefetched(
    *,
    moves: tuple[int, int] = (450, 490),
    cause: MigrationCause = MigrationCause.USER_PREFETCH,
    called_us: int = 4,
    device: int = 0,
) -> TraceBuilder:
    """Two kernels of one stream with a prefetch between their launches; the device idles from 100 to 500 µs."""
    build = TraceBuilder(devices=2)
    build.launch(2, 3, correlation=1)
    build.call("cudaMemPrefetchAsync_v12020", called_us, called_us + 1)
    build.launch(6, 7, correlation=2)
    build.kernel(10, 100, correlation=1)
    build.row(
        Migrations,
        start_ns=moves[0] * US,
        end_ns=moves[1] * US,
        device=device,
        process=1,
        kind=CopyKind.HOST_TO_DEVICE,
        bytes=2 << 20,
        cause=cause,
        address=0,
    )
    build.kernel(500, 600, correlation=2)
    return build


def test_standstill_while_prefetched_pages_move_is_uvm_prefetch() -> None:
    assert charges(prefetched()) == {"uvm.prefetch": 400}
    found = finding(prefetched(), "uvm.prefetch")
    assert (found.wait_ns, found.recoverable_ns.low, found.evidence_level) == (400 * US, 0, "supported")


def test_pages_that_a_fault_moved_are_no_prefetch() -> None:
    assert "uvm.prefetch" not in waits(prefetched(cause=MigrationCause.PAGE_FAULT))


def test_a_prefetch_before_both_launches_holds_neither() -> None:
    assert "uvm.prefetch" not in waits(prefetched(called_us=0))


def test_pages_that_arrived_long_before_are_not_what_the_kernel_waited_for() -> None:
    assert "uvm.prefetch" in waits(prefetched(moves=(350, 400)))
    assert "uvm.prefetch" not in waits(prefetched(moves=(350, 399)))


def test_pages_that_moved_before_the_standstill_do_not_count() -> None:
    assert "uvm.prefetch" not in waits(prefetched(moves=(99, 450)))


def test_pages_of_another_device_do_not_count() -> None:
    assert "uvm.prefetch" not in waits(prefetched(device=1))


def test_what_was_held_and_prefetched_is_stated() -> None:
    assert evidence(prefetched(), "uvm.prefetch") == {
        "queued operations held behind a prefetch": (1, "count", "CUPTI_ACTIVITY_KIND_RUNTIME"),
        "prefetched pieces": (1, "count", "CUPTI_ACTIVITY_KIND_MEMCPY"),
        "bytes prefetched": (2 << 20, "bytes", "CUPTI_ACTIVITY_KIND_MEMCPY"),
    }
    assert finding(prefetched(), "uvm.prefetch").recoverable_ns.high == 400 * US
