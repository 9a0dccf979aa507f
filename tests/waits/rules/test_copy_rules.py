"""copy.pageable, copy.exposed and copy.blocking told apart."""

from __future__ import annotations

from build import TraceBuilder
from diagnose import charges, finding, waits

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
