"""Two processes, threads or devices at once: claims stay with those they belong to."""

from __future__ import annotations

import pytest
from build import US, TraceBuilder
from diagnose import analysis, charges, finding, outcome

from stallscope.model.events import GilSpans, GpuMetrics, OsCalls, OverheadKind, Overheads, SchedSpans

NS = 0.001


def two_devices(late_us: float = 1_000) -> TraceBuilder:
    """Each device gets two kernels from a thread of its own, the second late."""
    build = TraceBuilder(devices=2)
    for device in (0, 1):
        for i, t in enumerate((10.0, 10 + 100 + late_us)):
            number = 2 * device + i + 1
            build.launch(t - 5, t - 4, correlation=number, thread=device + 1)
            build.kernel(t, t + 100, correlation=number, device=device, stream=7 + device)
    return build


def ledgers(build: TraceBuilder, wait: str) -> list[float]:
    return [device.ledger.get(wait, 0) / US for device in analysis(build).devices]


@pytest.mark.parametrize(
    ("table", "columns", "wait"),
    [
        (OsCalls, {"name": "pthread_cond_wait"}, "host.blocked"),
        (OsCalls, {"name": "read"}, "input.wait"),
        (SchedSpans, {}, "host.blocked"),
        (GilSpans, {"waiting": True}, "host.gil"),
        (Overheads, {"kind": OverheadKind.PROFILER, "correlation": 0}, "env.profiler_overhead"),
        (Overheads, {"kind": OverheadKind.JIT, "correlation": 0}, "init.jit"),
        (Overheads, {"kind": OverheadKind.LAZY_LOADING, "correlation": 0}, "init.lazy_load"),
    ],
)
def test_what_one_thread_did_is_charged_to_the_device_it_kept_waiting(
    table: type, columns: dict[str, object], wait: str
) -> None:
    build = two_devices()
    build.span(table, 200, 500, thread=2, **columns)
    assert ledgers(build, wait) == [0, 300]


@pytest.mark.parametrize(
    ("call", "wait"),
    [("cudaMalloc", "alloc.sync"), ("nvrtcCompileProgram", "init.jit"), ("cudaGraphInstantiate", "init.graph")],
)
def test_calls_of_one_thread_hold_its_own_device(call: str, wait: str) -> None:
    build = two_devices()
    build.call(call, 200, 500, thread=2)
    assert ledgers(build, wait) == [0, 300]


def test_blocked_time_states_its_spans_and_is_supported_by_two_tables() -> None:
    build = two_devices()
    build.span(OsCalls, 200, 500, thread=2, name="pthread_cond_wait")
    found = finding(build, "host.blocked")
    assert [(e.value, e.unit) for e in found.evidence] == [(1, "count"), (300 * US, "ns")]
    assert found.evidence_level == "indicated"
    build.span(SchedSpans, 450, 600, thread=2)
    found = finding(build, "host.blocked")
    assert [(e.value, e.unit) for e in found.evidence] == [(1, "count"), (400 * US, "ns")]
    assert found.evidence_level == "supported"


def test_gil_waits_of_all_threads_are_counted_and_the_launching_threads_are_charged() -> None:
    build = two_devices()
    for thread in (2, 3):
        build.span(GilSpans, 200, 500, thread=thread, waiting=True)
    build.span(GilSpans, 500, 700, thread=2, waiting=False)
    found = finding(build, "host.gil")
    assert [(e.value, e.unit) for e in found.evidence] == [(2, "count"), (300 * US, "ns")]
    assert (found.devices, found.evidence_level) == (("GPU 1",), "supported")


@pytest.mark.parametrize("busy", [0, 1])
def test_link_traffic_of_one_device_is_not_in_the_kernels_of_another(busy: int) -> None:
    build = TraceBuilder(devices=2)
    metric = build.name("PCIe TX Throughput")
    for device in (0, 1):
        build.kernel(0, 1_000, device=device)
        for t in range(0, 1_000, 100 if device == busy else 50):
            build.row(GpuMetrics, time_ns=t * US, device=device, metric=metric, value=20.0 if device == busy else 19.9)
    expected = [0.0, 0.0]
    expected[busy] = 900
    assert ledgers(build, "link.zero_copy") == expected
    found = finding(build, "link.zero_copy")
    assert [e.value for e in found.evidence] == [10, 900 * US]
    assert (found.evidence_level, found.recoverable_ns.low) == ("supported", 0)


def test_one_sample_has_no_period() -> None:
    build = TraceBuilder()
    build.kernel(0, 1_000)
    build.row(GpuMetrics, time_ns=500 * US, device=0, metric=build.name("PCIe RX Throughput"), value=60.0)
    assert outcome(build, "link.zero_copy")[0] == "clean"
    build.row(GpuMetrics, time_ns=700 * US, device=0, metric=build.name("PCIe RX Throughput"), value=60.0)
    assert charges(build)["link.zero_copy"] == 400
