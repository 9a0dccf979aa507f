"""Waits inside kernels: unified memory, interference, direct host access; and exposed communication and offload."""

from __future__ import annotations

from dataclasses import replace

import pytest
from build import US, TraceBuilder
from diagnose import analysis, charges, evidence, finding, outcome, waits

from stallscope.api import analyze_trace
from stallscope.model.events import CopyKind, CpuFaults, GpuFaults, GpuMetrics, MigrationCause
from stallscope.model.trace import Device

TO_DEVICE, TO_HOST = CopyKind.HOST_TO_DEVICE, CopyKind.DEVICE_TO_HOST


def managed(cause: MigrationCause, *, inside: bool = True) -> TraceBuilder:
    """A 10 ms kernel with 5 ms of migrations to the device, inside it or before it."""
    build = TraceBuilder()
    build.kernel(0, 100)
    build.kernel(10_000, 20_000)
    for i in range(50):
        start = (10_000 if inside else 200) + 100 * i
        build.migration(start, start + 100, kind=TO_DEVICE, cause=cause, address=(1 << 30) + (i << 21))
    return build


def test_page_fault_migrations_inside_a_kernel_are_gpu_faults() -> None:
    """Perlmutter set: 12,288 page-fault migrations inside one kernel."""
    build = managed(MigrationCause.PAGE_FAULT)
    assert charges(build)["uvm.fault_gpu"] == 5_000
    assert finding(build, "uvm.fault_gpu").evidence_level == "indicated"


def test_traced_faults_cover_the_stall_around_the_migrations() -> None:
    build = managed(MigrationCause.PAGE_FAULT)
    build.row(GpuFaults, start_ns=10_000 * US, end_ns=19_000 * US, device=0, process=0, address=1, faults=99)
    assert charges(build)["uvm.fault_gpu"] == 9_000
    assert finding(build, "uvm.fault_gpu").evidence_level == "supported"


def test_a_prefetch_is_no_fault_even_inside_a_kernel() -> None:
    assert "uvm.fault_gpu" not in charges(managed(MigrationCause.USER_PREFETCH))


def test_migrations_before_the_kernel_are_not_charged_to_it() -> None:
    assert "uvm.fault_gpu" not in charges(managed(MigrationCause.PAGE_FAULT, inside=False))


def test_the_cpus_pass_over_managed_memory_is_fault_cpu() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(6, 100, correlation=1)
    for i in range(101):
        build.row(CpuFaults, time_ns=(200 + 100 * i) * US, process=0, address=i << 12)
        build.migration(210 + 100 * i, 220 + 100 * i, kind=TO_HOST, cause=MigrationCause.PAGE_FAULT)
    build.launch(10_300, 10_310, correlation=2)
    build.kernel(10_320, 10_400, correlation=2)
    found = charges(build)
    assert found["uvm.fault_cpu"] == 10_020
    assert finding(build, "uvm.fault_cpu").evidence_level == "supported"


def ping_pong(rounds: int) -> TraceBuilder:
    build = TraceBuilder()
    build.kernel(0, 10)
    for i in range(rounds):
        t = 10_000 * (i + 1)
        build.migration(t - 4_000, t - 3_900, kind=TO_HOST, cause=MigrationCause.PAGE_FAULT)
        build.kernel(t, t + 2_000)
        build.migration(t + 100, t + 1_100, kind=TO_DEVICE, cause=MigrationCause.PAGE_FAULT)
    return build


def test_pages_that_bounce_are_thrash_and_a_few_phases_are_not() -> None:
    assert charges(ping_pong(6))["uvm.thrash"] == 6 * 1_000
    found = charges(ping_pong(3))
    assert "uvm.thrash" not in found
    assert found["uvm.fault_gpu"] == 3 * 1_000


def test_evictions_under_a_kernel_are_uvm_evict() -> None:
    build = TraceBuilder()
    build.kernel(0, 10_000)
    build.migration(1_000, 3_000, kind=TO_HOST, cause=MigrationCause.EVICTION)
    assert charges(build) == {"uvm.evict": 2_000}


def beside(writer_blocks: int, alone_us: int, beside_us: int, name: str = "writer") -> TraceBuilder:
    """Twenty instances of a kernel alone, twenty beside one long kernel."""
    build = TraceBuilder()
    for i in range(20):
        build.kernel(200 * i, 200 * i + alone_us, name="victim", full_name="victim<int>", stream=14)
    start = 4_000
    build.kernel(start, start + 40_000, name=name, blocks=writer_blocks, stream=13)
    for i in range(20):
        build.kernel(
            start + 10 + 2_000 * i,
            start + 10 + 2_000 * i + beside_us,
            name="victim",
            full_name="victim<int>",
            stream=14,
        )
    return build


def test_a_constant_excess_beside_a_small_long_writer_is_fence_interference() -> None:
    build = beside(writer_blocks=8, alone_us=2, beside_us=40)
    assert charges(build)["fence.interference"] == 20 * 38
    assert "fence.interference" in waits(build)


def test_no_fence_without_excess_nor_beside_a_kernel_that_takes_the_device() -> None:
    assert "fence.interference" not in charges(beside(writer_blocks=8, alone_us=20, beside_us=22))
    assert "fence.interference" not in charges(beside(writer_blocks=2000, alone_us=2, beside_us=40))
    assert "fence.interference" not in charges(beside(writer_blocks=8, alone_us=2, beside_us=1_900))


@pytest.mark.parametrize(("name", "capability"), [("NVIDIA A100", "8.0"), ("AMD Instinct MI300X", "9.4")])
def test_devices_without_memory_domains_get_no_fence_verdict(name: str, capability: str) -> None:
    """A100 with all-to-all beside compute: kernels lose 1 to 110 µs, which durations alone cannot call a fence."""
    trace = beside(writer_blocks=8, alone_us=2, beside_us=40, name="ncclKernel_SendRecv_RING_SIMPLE").trace()
    older = Device("GPU 0", "GPU-0", name, sm_count=108, compute_capability=capability)
    found = analyze_trace(replace(trace, devices=(older,)), everything=True)
    assert "fence.interference" not in found.devices[0].ledger
    assert found.devices[0].ledger["comm.interference"] == 20 * 38 * US
    check = next(c for c in found.checks if c.wait == "fence.interference")
    assert check.outcome == "not_applicable"
    assert "memory-synchronization domains" in check.reason


def test_compute_slower_beside_communication_is_comm_interference() -> None:
    """nccl#1428: GEMM 1.18 → 2.08 ms beside an all-reduce."""
    build = TraceBuilder()
    for i in range(5):
        build.kernel(3_000 * i, 3_000 * i + 1_180, name="gemm")
    for i in range(5):
        t = 20_000 + 3_000 * i
        build.kernel(t, t + 2_080, name="gemm")
        build.kernel(t - 5, t + 2_085, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=20, blocks=24)
    found = charges(build)
    assert found["comm.interference"] == 5 * 900
    assert "fence.interference" not in found
    assert finding(build, "comm.interference").evidence[3].value == 1.76


def test_the_same_kernel_as_fast_beside_communication_is_clean() -> None:
    build = TraceBuilder()
    for i in range(10):
        build.kernel(3_000 * i, 3_000 * i + 1_180, name="gemm")
        if i >= 5:
            build.kernel(3_000 * i, 3_000 * i + 1_200, name="ncclDevKernel_AllReduce", stream=20)
    assert outcome(build, "comm.interference")[0] == "clean"


def test_communication_without_compute_beside_it_is_exposed() -> None:
    """Megatron-LM#533: the collective starts only when the GEMM ends."""
    build = TraceBuilder()
    build.kernel(0, 900, name="gemm")
    build.kernel(905, 1_905, name="ncclDevKernel_AllReduce", stream=20)
    build.kernel(1_400, 1_700, name="gemm")
    found = charges(build)
    assert found["comm.exposed"] == 700
    assert any("CUDA_DEVICE_MAX_CONNECTIONS" in a for e in finding(build, "comm.exposed").experiments for a in e.apply)


def layers(copies_a_step: int) -> TraceBuilder:
    build = TraceBuilder()
    t = 0
    for _ in range(8):
        start = t
        for _ in range(copies_a_step):
            build.copy(t, t + 100, size=64 << 20, stream=8)
            build.kernel(t + 100, t + 150)
            t += 150
        build.nvtx("step", start, t)
    return build


def test_several_repeated_copies_a_step_are_offload_and_a_batch_a_step_is_not() -> None:
    assert charges(layers(6))["offload.exposed"] == 8 * 6 * 100
    assert charges(layers(1)) == {"copy.exposed": 800}


def test_link_traffic_in_kernels_without_copies_is_zero_copy() -> None:
    build = TraceBuilder()
    build.kernel(0, 1_000)
    build.copy(1_000, 1_400)
    build.kernel(1_400, 2_000)
    metric = build.name("PCIe RX Throughput")
    for t in range(0, 2_000, 100):
        build.row(GpuMetrics, time_ns=t * US, device=0, metric=metric, value=60.0 if t <= 500 or t >= 1_000 else 1.0)
    found = charges(build)
    assert found["link.zero_copy"] == 500 + 400


def test_without_gpu_metrics_zero_copy_cannot_be_told() -> None:
    build = TraceBuilder()
    build.kernel(0, 10)
    state, reason = outcome(build, "link.zero_copy")
    assert state == "not_applicable"
    assert "--gpu-metrics-devices" in reason


MOVES = "CUPTI_ACTIVITY_KIND_MEMCPY"


def test_gpu_faults_state_their_migrations_and_whether_faults_were_traced() -> None:
    untraced, traced = managed(MigrationCause.PAGE_FAULT), managed(MigrationCause.SPECULATIVE)
    for served, faults in ((10_000, 99), (12_000, 1)):
        traced.row(
            GpuFaults, start_ns=served * US, end_ns=(served + 100) * US, device=0, process=0, address=1, faults=faults
        )
    moved = {
        "on-demand migrations to the device": (50, "count", MOVES),
        "bytes they moved": (50 * 4096, "bytes", MOVES),
    }
    assert evidence(untraced, "uvm.fault_gpu") == moved
    assert evidence(traced, "uvm.fault_gpu") == moved | {
        "GPU fault groups": (2, "count", "CUDA_UM_GPU_PAGE_FAULT_EVENTS"),
        "page faults in them": (100, "count", "CUDA_UM_GPU_PAGE_FAULT_EVENTS"),
    }
    first, second = finding(untraced, "uvm.fault_gpu"), finding(traced, "uvm.fault_gpu")
    assert first.caveats[0].startswith("Faults were not traced")
    assert second.caveats[0].startswith("Fault tracing slows fault service")
    assert (first.recoverable_ns.low, first.recoverable_ns.high) == (2_500 * US, 5_000 * US)


def test_faults_of_one_device_are_not_charged_to_kernels_of_another() -> None:
    build = TraceBuilder(devices=2)
    for device in (0, 1):
        build.kernel(0, 1_000, device=device)
    build.migration(100, 400, kind=TO_DEVICE, cause=MigrationCause.PAGE_FAULT)
    build.row(GpuFaults, start_ns=500 * US, end_ns=600 * US, device=1, process=0, address=1, faults=3)
    assert [device.ledger.get("uvm.fault_gpu", 0) for device in analysis(build).devices] == [300 * US, 100 * US]


def test_cpu_faults_state_their_migrations_and_the_cpus_own_work() -> None:
    build = TraceBuilder()
    build.launch(0, 5, correlation=1)
    build.kernel(6, 100, correlation=1)
    for i in range(3):
        build.migration(200 + 100 * i, 210 + 100 * i, kind=TO_HOST, cause=MigrationCause.PAGE_FAULT)
    build.launch(1_000, 1_010, correlation=2)
    build.kernel(1_020, 1_100, correlation=2)
    moved = {
        "on-demand migrations to the host": (3, "count", MOVES),
        "bytes they moved": (3 * 4096, "bytes", MOVES),
    }
    assert evidence(build, "uvm.fault_cpu") == moved
    found = finding(build, "uvm.fault_cpu")
    assert found.evidence_level == "indicated"
    assert found.caveats[0].startswith("The CPU's own work on the data is inside this time")
    build.row(CpuFaults, time_ns=205 * US, process=0, address=4096)
    assert evidence(build, "uvm.fault_cpu") == moved | {
        "CPU page faults": (1, "count", "CUDA_UM_CPU_PAGE_FAULT_EVENTS")
    }
    assert finding(build, "uvm.fault_cpu").evidence_level == "supported"
