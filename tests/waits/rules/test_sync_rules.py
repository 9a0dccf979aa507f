"""Host synchronization: the idle time behind it, never the wait itself."""

from __future__ import annotations

import pytest
from build import TraceBuilder
from diagnose import charges, finding, waits

from stallscope.model.events import CopyKind, MemoryKind

CALLS = {
    "sync.stream": "cudaStreamSynchronize",
    "sync.device": "cudaDeviceSynchronize",
    "sync.event": "cudaEventSynchronize",
}


def step_loop(call: str, late_us: int = 30) -> TraceBuilder:
    build = TraceBuilder()
    for i in range(5):
        t = 1000 * i
        build.launch(t, t + 5, correlation=i + 1)
        build.kernel(t + 5, t + 1000 - late_us, correlation=i + 1)
        build.call(call, t + 10, t + 1000 - late_us + 5)
    return build


@pytest.mark.parametrize(("wait", "call"), CALLS.items())
def test_idle_behind_the_drain_is_the_waits_cost(wait: str, call: str) -> None:
    build = step_loop(call)
    assert charges(build) == {wait: 4 * 35}
    assert finding(build, wait).where[0].api == call


@pytest.mark.parametrize("call", ["cuStreamSynchronize", "hipStreamSynchronize"])
def test_driver_and_hip_calls_count_too(call: str) -> None:
    assert charges(step_loop(call)) == {"sync.stream": 4 * 35}


def test_a_wait_over_a_device_that_stays_busy_costs_nothing() -> None:
    """TensorRT#1493: cudaStreamSynchronize is half of the host's time and costs nothing."""
    build = TraceBuilder()
    build.launch(0, 1, correlation=1)
    build.launch(1, 2, correlation=2)
    build.kernel(3, 1500, correlation=1)
    build.kernel(1500, 2990, correlation=2)
    build.call("cudaStreamSynchronize", 5, 2995)
    assert charges(build) == {}
    assert waits(build) == []


def item(size: int) -> TraceBuilder:
    build = TraceBuilder()
    for i in range(5):
        t = 1000 * i
        build.launch(t, t + 5, correlation=3 * i + 1)
        build.kernel(t + 10, t + 900, correlation=3 * i + 1)
        build.call("cudaMemcpyAsync", t + 20, t + 25, correlation=3 * i + 2)
        build.copy(
            t + 902,
            t + 904,
            size=size,
            kind=CopyKind.DEVICE_TO_HOST,
            source=MemoryKind.DEVICE,
            target=MemoryKind.PINNED,
            correlation=3 * i + 2,
        )
        build.call("cudaStreamSynchronize", t + 26, t + 910)
    return build


def test_a_few_bytes_waited_for_are_a_scalar_read_back() -> None:
    assert waits(item(4)) == ["sync.scalar"]
    assert charges(item(4))["sync.scalar"] == 4 * 106


def test_a_large_copy_waited_for_is_no_scalar() -> None:
    assert waits(item(1 << 20)) == ["sync.stream"]


def test_loss_item_costs_the_idle_not_the_wait() -> None:
    """torchtune#522: a 40 ms cudaStreamSynchronize a step costs the 3 ms the GPU idles behind it."""
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(10, 45_000, correlation=1)
    build.call("cudaStreamSynchronize", 5_000, 45_000)
    build.launch(47_990, 47_995, correlation=2)
    build.kernel(48_000, 90_000, correlation=2)
    assert charges(build) == {"sync.stream": 3_000}


def test_blocking_scalar_copy_after_every_launch() -> None:
    """numba-cuda-mlir#232: cuCtxSynchronize and a blocking 4-byte copy after each launch."""
    build = TraceBuilder()
    t = 0
    for i in range(5):
        build.launch(t, t + 5, correlation=3 * i + 1)
        build.kernel(t + 6, t + 430_000, correlation=3 * i + 1)
        build.call("cuCtxSynchronize", t + 7, t + 430_005)
        build.call("cuMemcpyDtoH", t + 430_006, t + 430_020, correlation=3 * i + 2)
        build.copy(t + 430_012, t + 430_014, size=4, kind=CopyKind.DEVICE_TO_HOST, correlation=3 * i + 2)
        t += 430_030
    found = charges(build)
    assert set(found) - {"copy.exposed"} <= {"sync.device", "sync.scalar"}
    assert sum(found.values()) > 100
