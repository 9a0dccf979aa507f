"""Odd rows: dropped and counted, or read as what they mean. Nothing crashes on them."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlite_build import ExportBuilder, collected, global_pid, global_tid, notes, opened

from stallscope.ingest import export_codes
from stallscope.model import events

LOST_IDS = 4294967295


def test_rows_without_usable_times_or_device_are_dropped_and_counted(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(100, 200)
    build.kernel(0, 0).kernel(0, 0)  # CUPTI lost the timestamps
    build.kernel(300, 250)
    build.kernel(400, 500, deviceId=None)
    build.kernel(600, 700, deviceId=2**31 - 1)  # "on the host"
    build.call(10, 20, "cudaMalloc", globalTid=None)
    trace = opened(build, tmp_path)
    assert collected(trace, events.Kernels).start_ns.tolist() == [100]
    assert notes(trace)["env.data_quality"] == (
        "rows left out: 1 of CUPTI_ACTIVITY_KIND_KERNEL: end before start; "
        "2 of CUPTI_ACTIVITY_KIND_KERNEL: no device; "
        "2 of CUPTI_ACTIVITY_KIND_KERNEL: no timestamp; "
        "1 of CUPTI_ACTIVITY_KIND_RUNTIME: no thread"
    )


def test_a_shifted_clock_may_show_times_before_zero(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(-50, -10).kernel(0, 0)
    build.add("META_DATA_EXPORT", name="EXPORT_PARAM_TIME_SHIFT", value="-1000")
    build.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=5_000)
    trace = opened(build, tmp_path)
    assert collected(trace, events.Kernels).start_ns.tolist() == [-50]
    assert trace.origin_ns == 6_000


def test_rows_come_out_in_time_order_whatever_order_they_are_stored_in(tmp_path: Path) -> None:
    build = ExportBuilder()
    for start in (500, 100, 300, 200):
        build.kernel(start, start + 10)
        build.call(start - 50, start - 40, "cudaLaunchKernel_v7000")
    trace = opened(build, tmp_path)
    assert collected(trace, events.Kernels).start_ns.tolist() == [100, 200, 300, 500]
    assert collected(trace, events.ApiCalls).start_ns.tolist() == [50, 150, 250, 450]


def test_zero_length_kernels_stay(tmp_path: Path) -> None:
    assert len(collected(opened(ExportBuilder().kernel(5, 5), tmp_path), events.Kernels)) == 1


def test_missing_correlation_is_zero(tmp_path: Path) -> None:
    trace = opened(ExportBuilder().kernel(1, 2, correlationId=None), tmp_path)
    assert collected(trace, events.Kernels).correlation.tolist() == [0]


def test_activities_without_a_process_belong_to_the_only_one(tmp_path: Path) -> None:
    build = (
        ExportBuilder().kernel(10, 20, globalPid=None, correlationId=1).call(1, 5, "cudaLaunchKernel", correlationId=1)
    )
    trace = opened(build, tmp_path)
    assert [p.pid for p in trace.processes] == [100]
    assert collected(trace, events.Kernels).process.tolist() == [0]


def test_activities_without_a_process_stay_apart_when_there_are_two(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(10, 20, globalPid=None)
    build.kernel(30, 40, pid=1).kernel(50, 60, pid=2)
    trace = opened(build, tmp_path)
    pids = [trace.processes[i].pid for i in collected(trace, events.Kernels).process]
    assert pids == [0, 1, 2]


def test_equal_correlation_ids_of_two_processes_keep_their_process(tmp_path: Path) -> None:
    build = ExportBuilder()
    for pid in (1, 2):
        build.kernel(100 * pid, 100 * pid + 10, pid=pid, correlationId=7)
        build.call(100 * pid - 20, 100 * pid - 10, "cudaLaunchKernel", pid=pid, correlationId=7)
    trace = opened(build, tmp_path)
    assert collected(trace, events.Kernels).process.tolist() == collected(trace, events.ApiCalls).process.tolist()
    assert len(set(collected(trace, events.Kernels).process.tolist())) == 2


def test_ids_with_the_highest_bit_set_are_negative_in_sqlite_and_still_ids(tmp_path: Path) -> None:
    key = global_pid(77, vm=0xFE00)
    assert key < 0
    build = ExportBuilder().kernel(10, 20, globalPid=key).call(1, 5, "cuInit", globalTid=key | 9)
    trace = opened(build, tmp_path)
    assert [p.pid for p in trace.processes] == [77]
    assert [(t.process, t.tid) for t in trace.threads] == [(0, 9)]


def test_names_of_any_length_and_encoding_survive(tmp_path: Path) -> None:
    long, broken = "x" * 100_000, b"caf\xe9 \x9f"
    build = ExportBuilder().kernel(1, 2, long).kernel(3, 4, "naïve 核 🚀")
    build.add("StringIds", id=900, value=broken)
    build.kernel(5, 6, shortName=900, demangledName=900)
    build.range(1, 9, text=broken)  # type: ignore[arg-type]
    trace = opened(build, tmp_path)
    assert [trace.names[n] for n in collected(trace, events.Kernels).name] == [long, "naïve 核 🚀", "caf\ufffd \ufffd"]
    assert [trace.names[n] for n in collected(trace, events.NvtxRanges).name] == ["caf\ufffd \ufffd"]


def test_string_ids_beyond_32_bit_are_found(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2, shortName=2**40 + 3, demangledName=2**40 + 3)
    build.add("StringIds", id=2**40 + 3, value="far")
    trace = opened(build, tmp_path)
    assert trace.names[int(collected(trace, events.Kernels).name[0])] == "far"


def test_a_demangled_name_alone_names_the_kernel_twice(tmp_path: Path) -> None:
    build = ExportBuilder()
    build.kernel(1, 2, shortName=None, demangledName=build.text("void f<int>()"))
    kernels = collected(opened(build, tmp_path), events.Kernels)
    assert kernels.name.tolist() == kernels.full_name.tolist() != [0]


def test_a_text_column_that_begins_with_thousands_of_nulls_is_text(tmp_path: Path) -> None:
    """Registered ranges fill `textId` only: the type of `text` must not come from the first rows."""
    build = ExportBuilder()
    registered = build.text("registered")
    for i in range(70_000):
        build.range(10 * i, 10 * i + 5, textId=registered)
    build.range(800_000, 800_010, "inline")
    trace = opened(build, tmp_path)
    ranges = collected(trace, events.NvtxRanges)
    assert len(ranges) == 70_001
    assert trace.names[int(ranges.name[-1])] == "inline"


def test_numbers_stored_as_text_are_numbers(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2, registersPerThread="40", correlationId=3.0)
    kernels = collected(opened(build, tmp_path), events.Kernels)
    assert (int(kernels.registers[0]), int(kernels.correlation[0])) == (40, 3)


def test_threads_are_off_the_cpu_from_switch_out_to_switch_in(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2)
    for time, tid, running in ((10, 5, 1), (20, 5, 0), (25, 6, 1), (50, 5, 1), (60, 6, 0), (70, 5, 0)):
        build.add("SCHED_EVENTS", start=time, cpu=0, isSchedIn=running, globalTid=global_tid(100, tid))
    spans = collected(opened(build, tmp_path), events.SchedSpans)
    assert spans.frame.select("start_ns", "end_ns").rows() == [(20, 50)]


def test_memory_events_and_pools(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2)
    base = {"globalPid": global_pid(100), "deviceId": 0, "memKind": 2, "bytes": 64}
    build.add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=0, memoryOperationType=0, address=16, **base)
    build.add(
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        start=9, memoryOperationType=1, address=16, correlationId=4, localMemoryPoolAddress=99,
        localMemoryPoolReleaseThreshold=0, localMemoryPoolSize=128, localMemoryPoolUtilizedSize=64, **base,
    )  # fmt: skip
    for time, operation in ((5, 1), (8, 3)):
        build.add("CUDA_GPU_MEMORY_POOL_EVENTS", start=time, operationType=operation, globalPid=global_pid(100))
    trace = opened(build, tmp_path)
    held = ("pool", "pool_threshold_bytes", "pool_bytes", "pool_used_bytes")
    assert collected(trace, events.MemoryEvents).frame.select("time_ns", "is_free", "kind", *held).rows() == [
        (0, False, events.MemoryKind.DEVICE, 0, -1, -1, -1),
        (9, True, events.MemoryKind.DEVICE, 99, 0, 128, 64),
    ]
    assert collected(trace, events.PoolTrims).time_ns.tolist() == [8]


def test_unified_memory_faults(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2)
    row = {"globalPid": global_pid(100), "address": 4096}
    build.add("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=10, end=30, deviceId=0, numberOfPageFaults=12, **row)
    build.add("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=40, **row)
    trace = opened(build, tmp_path)
    assert collected(trace, events.GpuFaults).frame.select("start_ns", "end_ns", "faults").rows() == [(10, 30, 12)]
    assert collected(trace, events.CpuFaults).frame.select("time_ns", "address").rows() == [(40, 4096)]


@pytest.mark.parametrize("none", [LOST_IDS, -1, None])
def test_no_stream_and_no_event_have_one_spelling(none: int | None, tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2).add(
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        start=10, end=20, deviceId=0, contextId=1, streamId=none, eventId=none, syncType=4, globalPid=global_pid(100),
    )  # fmt: skip
    syncs = collected(opened(build, tmp_path), events.Syncs)
    assert (int(syncs.stream[0]), int(syncs.event[0])) == (-1, -1)


times = st.one_of(st.none(), st.integers(-10, 200))
kernel_rows = st.lists(
    st.tuples(times, times, st.one_of(st.none(), st.integers(0, 2)), st.one_of(st.none(), st.integers(1, 3))),
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(kernel_rows)
def test_every_row_is_either_read_or_counted(rows: list[tuple[int | None, ...]]) -> None:
    build = ExportBuilder().empty("CUPTI_ACTIVITY_KIND_KERNEL").call(1, 2, "cudaLaunchKernel")
    for start, end, device, pid in rows:
        key = None if pid is None else global_pid(pid)
        build.kernel(start, end, deviceId=device, globalPid=key)  # type: ignore[arg-type]
    with TemporaryDirectory() as folder:
        trace = opened(build, Path(folder))
    kernels = collected(trace, events.Kernels)
    words = notes(trace).get("env.data_quality", "").removeprefix("rows left out: ").split("; ")
    counted = sum(int(word.split(" ")[0]) for word in words if word)
    assert len(kernels) + counted == len(rows)
    assert (np.diff(kernels.start_ns) >= 0).all()
    assert (kernels.end_ns >= kernels.start_ns).all()
    assert kernels.start_ns.min(initial=1) > 0


calls_of_threads = st.lists(st.tuples(st.integers(5, 7), st.integers(1, 9), st.integers(0, 3)), min_size=1, max_size=12)


@pytest.mark.parametrize("loops", ["compiled", "pure"])
@settings(max_examples=60, deadline=None)
@given(calls=calls_of_threads)
def test_calls_come_by_thread_and_start_the_outer_of_two_first(loops: str, calls: list[tuple[int, int, int]]) -> None:
    build = ExportBuilder()
    for number, (tid, start, length) in enumerate(calls):
        build.call(start, start + length, "cudaFree", tid=tid, correlationId=number, returnValue=number + 100)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if loops == "pure":
            patch.setattr(export_codes, "library", lambda: None)
        found = collected(opened(build, Path(folder)), events.ApiCalls)
    wanted = sorted((tid, start, -length, number) for number, (tid, start, length) in enumerate(calls))
    assert [w[3] for w in wanted] == found.correlation.tolist()
    assert (found.correlation + 100).tolist() == found.result.tolist()
    ranks = {tid: rank for rank, tid in enumerate(sorted({tid for tid, *_ in calls}))}
    assert [(ranks[tid], start, start - longer) for tid, start, longer, _ in wanted] == list(
        zip(found.thread.tolist(), found.start_ns.tolist(), found.end_ns.tolist(), strict=True)
    )


def test_names_of_calls_are_numbered_alike_whatever_the_order_of_the_rows(tmp_path: Path) -> None:
    calls = [(10, 20, "cudaMemsetAsync_v3020"), (30, 40, "cudaFree_v3020"), (50, 60, "cudaMemsetAsync_v3020")]
    found = []
    for number, order in enumerate((calls, calls[::-1])):
        build = ExportBuilder()
        for call in order:
            build.call(*call)
        (tmp_path / str(number)).mkdir()
        trace = opened(build, tmp_path / str(number))
        numbers = collected(trace, events.ApiCalls).name.tolist()
        found.append((numbers, [trace.names[name] for name in numbers]))
    assert found[0] == found[1]
    assert found[0][1] == ["cudaMemsetAsync", "cudaFree", "cudaMemsetAsync"]
