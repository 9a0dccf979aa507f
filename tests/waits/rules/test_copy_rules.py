"""copy.pageable, copy.exposed and copy.blocking told apart."""

from __future__ import annotations

from build import US, TraceBuilder
from diagnose import charges, evidence, finding, waits

from stallscope.model.events import MemoryKind


def loop(source: MemoryKind, *, beside: bool = False, blocking: bool = False) -> TraceBuilder:
    """A 400 µs copy, then a 100 µs kernel; `beside` puts a kernel of another stream next to the copy."""
    build = TraceBuilder()
    for i in range(4):
        t = 1000 * i
        name = "cudaMemcpy" if blocking else "cudaMemcpyAsync"
        build.call(name, t, t + (405 if blocking or source == MemoryKind.PAGEABLE else 5), correlation=3 * i + 1)
        build.copy(t + 2, t + 402, source=source, stream=8, correlation=3 * i + 1)
        build.launch(t + 406, t + 410, correlation=3 * i + 2)
        build.kernel(t + 412, t + 1000, correlation=3 * i + 2)
        if beside:
            build.launch(t, t + 1, correlation=3 * i + 3)
            build.kernel(t, t + 412, stream=9, correlation=3 * i + 3)
    return build


def test_a_pageable_copy_with_nothing_beside_it_is_copy_pageable() -> None:
    found = charges(loop(MemoryKind.PAGEABLE))
    assert found["copy.pageable"] == 4 * 400
    assert "copy.exposed" not in found
    assert finding(loop(MemoryKind.PAGEABLE), "copy.pageable").evidence[0].value == 4


def test_a_pinned_copy_with_nothing_beside_it_is_copy_exposed() -> None:
    found = charges(loop(MemoryKind.PINNED))
    assert found["copy.exposed"] == 4 * 400
    assert "copy.pageable" not in found


def test_a_copy_beside_a_kernel_is_no_wait() -> None:
    assert not {"copy.pageable", "copy.exposed"} & set(charges(loop(MemoryKind.PAGEABLE, beside=True)))


def test_idle_time_around_a_synchronous_copy_call_is_copy_blocking() -> None:
    found = charges(loop(MemoryKind.PINNED, blocking=True))
    assert found["copy.blocking"] == 4 * 10 + 3 * 2
    assert "sync.stream" not in found


def test_a_gap_filled_by_a_copy_is_not_idle() -> None:
    """nsys-ai#599: 253 ms of host-to-device copies were reported as idle."""
    build = TraceBuilder()
    build.kernel(0, 100)
    build.copy(100, 900)
    build.kernel(900, 1000)
    assert charges(build) == {"copy.exposed": 800}


def test_the_advice_on_pinning_names_all_three_preconditions() -> None:
    """apex#304: pinning alone made it slower."""
    advice = finding(loop(MemoryKind.PAGEABLE), "copy.pageable").experiments[0]
    text = " ".join((advice.change, *advice.apply))
    assert all(word in text for word in ("pin_memory", "stream", "non_blocking", "ahead"))


def test_a_copy_on_the_compute_stream_is_said_to_be_unable_to_overlap() -> None:
    build = TraceBuilder()
    build.copy(0, 900, stream=7)
    build.kernel(900, 1000, stream=7)
    assert waits(build) == ["copy.exposed"]
    assert any("stream of its kernels" in c for c in finding(build, "copy.exposed").caveats)


COPIES, CALLS = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_RUNTIME"


def test_pageable_copies_state_their_number_bytes_and_rate() -> None:
    build = loop(MemoryKind.PAGEABLE)
    assert evidence(build, "copy.pageable") == {
        "copies with a pageable side": (4, "count", COPIES),
        "bytes they moved": (4 << 20, "bytes", COPIES),
        "their rate": ((4 << 20) / 1600e-6, "bytes/s", COPIES),
    }
    found = finding(build, "copy.pageable")
    assert (found.recoverable_ns.low, found.recoverable_ns.high) == (480 * US, 1_600 * US)
    assert found.caveats[0].startswith("One-time uploads at the start are worth little")


def test_exposed_copies_state_their_bytes_rate_and_streams() -> None:
    build = loop(MemoryKind.PINNED)
    assert evidence(build, "copy.exposed") == {
        "copies": (4, "count", COPIES),
        "of them on a stream that also runs kernels": (0, "count", COPIES),
        "bytes moved": (4 << 20, "bytes", COPIES),
        "their rate": ((4 << 20) / 1600e-6, "bytes/s", COPIES),
    }
    assert not any("stream of its kernels" in caveat for caveat in finding(build, "copy.exposed").caveats)


def test_a_copy_on_the_stream_of_its_kernels_is_counted_and_cannot_overlap_them() -> None:
    build = TraceBuilder()
    for i in range(3):
        build.copy(100 * i, 100 * i + 40, stream=8 if i == 0 else 7)
        build.kernel(100 * i + 40, 100 * i + 100)
    assert evidence(build, "copy.exposed")["of them on a stream that also runs kernels"][0] == 2
    found = finding(build, "copy.exposed")
    assert "A copy on the stream of its kernels cannot overlap them, pinned or not." in found.caveats
    assert found.evidence_level == "indicated"  # nothing tells who launched the copies


def test_blocking_copies_state_their_calls_and_those_that_drained_the_device() -> None:
    build = loop(MemoryKind.PINNED, blocking=True)
    assert evidence(build, "copy.blocking") == {
        "copy calls that leave the device idle": (4, "count", CALLS),
        "host time in these calls": (4 * 405 * US, "ns", CALLS),
        "of them calls under which the device drained": (4, "count", CALLS),
    }
