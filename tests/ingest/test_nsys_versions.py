"""The same program, exported by exporters of 2020 to 2026, gives the same tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlite_build import ExportBuilder, collected, global_pid, global_tid, opened

from stallscope.ingest.nsys_schema import api_name
from stallscope.model import events
from stallscope.model.events import CopyKind, MemoryKind, MigrationCause, OverheadKind, SyncKind

VERSIONS = ("2020.4", "2022.4", "2023.4", "2026.2")


def program(version: str) -> ExportBuilder:
    build = ExportBuilder(version)
    build.call(100, 150, "cudaLaunchKernel_v7000", correlationId=1)
    build.kernel(200, 300, "axpy", correlationId=1)
    build.call(160, 210, "cudaMemcpyAsync_v3020", correlationId=2)
    build.copy(310, 400, kind=2, correlationId=2, srcKind=2, dstKind=0)
    build.call(405, 900, "cudaStreamSynchronize_ptsz_v7000", correlationId=3)
    build.add(
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        start=410, end=890, deviceId=0, contextId=1, streamId=7, correlationId=3, globalPid=global_pid(100),
        syncType=3, eventId=4294967295,
    )  # fmt: skip
    build.range(90, 950, "step")
    build.range(95, 160, textId=build.text("registered"), text=None)
    build.add("TARGET_INFO_GPU", vmId=1 << 48, id=0, name="Synthetic GPU", cuDevice=0, smCount=10, uuid="u-0")
    return build


@pytest.mark.parametrize("version", VERSIONS)
def test_every_generation_gives_the_same_tables(version: str, tmp_path: Path) -> None:
    trace = opened(program(version), tmp_path)

    kernels, copies, calls = (
        collected(trace, events.Kernels),
        collected(trace, events.Copies),
        collected(trace, events.ApiCalls),
    )
    row = kernels.frame.row(0, named=True)
    assert (row["start_ns"], row["end_ns"], row["correlation"]) == (200, 300, 1)
    assert trace.names[row["name"]] == trace.names[row["full_name"]] == "axpy"
    assert (row["grid_x"], row["grid_y"], row["grid_z"], row["block_x"]) == (2, 3, 4, 64)
    assert (row["registers"], row["shared_bytes"], row["graph_node"]) == (32, 1040, 0)
    copy = copies.frame.row(0, named=True)
    assert (copy["kind"], copy["source_kind"], copy["target_kind"], copy["bytes"]) == (
        CopyKind.DEVICE_TO_HOST, MemoryKind.DEVICE, MemoryKind.PAGEABLE, 4096,
    )  # fmt: skip
    assert [trace.names[n] for n in calls.name] == ["cudaLaunchKernel", "cudaMemcpyAsync", "cudaStreamSynchronize"]
    syncs = collected(trace, events.Syncs)
    assert (syncs.kind[0], syncs.stream[0], syncs.event[0], syncs.device[0]) == (SyncKind.STREAM, 7, -1, 0)
    ranges = collected(trace, events.NvtxRanges)
    assert [trace.names[n] for n in ranges.name] == ["step", "registered"]
    assert [(d.label, d.name, d.sm_count) for d in trace.devices] == [("GPU 0", "Synthetic GPU", 10)]
    assert [p.pid for p in trace.processes] == [100]
    assert [(t.process, t.tid) for t in trace.threads] == [(0, 5)]
    assert trace.source.producer == ("Nsight Systems" if version == "2020.4" else f"Nsight Systems {version}.1.1")
    assert trace.capture.notes == ()


def test_numbers_of_the_enum_tables_are_not_taken_for_granted(tmp_path: Path) -> None:
    """An exporter that renumbers its enums is read by the symbols it writes."""
    build = program("2026.2")
    build.enum("ENUM_CUDA_MEMCPY_OPER", {2: "CUDA_MEMCPY_KIND_UVM_HTOD", 77: "CUDA_MEMCPY_KIND_PTOP"})
    build.enum("ENUM_CUDA_MEM_KIND", {0: "CUDA_MEMOPR_MEMORY_KIND_MANAGED", 2: "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE"})
    build.enum("ENUM_CUPTI_SYNC_TYPE", {3: "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE"})
    build.copy(1000, 1100, kind=77, srcKind=0, dstKind=9)
    build.rows["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"][0]["correlationId"] = 0  # no call tells the kind
    trace = opened(build, tmp_path)

    migrations, copies, syncs = (collected(trace, k) for k in (events.Migrations, events.Copies, events.Syncs))
    assert migrations.frame["kind"].to_list() == [CopyKind.HOST_TO_DEVICE]
    assert copies.frame.select("kind", "source_kind", "target_kind").rows() == [
        (CopyKind.PEER_TO_PEER, MemoryKind.MANAGED, MemoryKind.UNKNOWN)
    ]
    assert syncs.frame["kind"].to_list() == [SyncKind.CONTEXT]


def test_a_null_memory_kind_is_unknown_and_never_pageable(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2).copy(10, 20, srcKind=None, dstKind=None)
    copies = collected(opened(build, tmp_path), events.Copies)
    assert copies.frame.select("source_kind", "target_kind").row(0) == (MemoryKind.UNKNOWN, MemoryKind.UNKNOWN)


def test_unified_memory_moves_are_migrations_with_their_cause(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2)
    build.copy(10, 20, kind=11, migrationCause=2, virtualAddress=4096, correlationId=None)
    build.copy(30, 40, kind=12, migrationCause=1)
    trace = opened(build, tmp_path)
    migrations, copies = collected(trace, events.Migrations), collected(trace, events.Copies)
    assert len(copies) == 0
    assert migrations.frame.select("kind", "cause", "address").rows() == [
        (CopyKind.HOST_TO_DEVICE, MigrationCause.PAGE_FAULT, 4096),
        (CopyKind.DEVICE_TO_HOST, MigrationCause.USER_PREFETCH, 0),
    ]


def test_overhead_rows_keep_apart_the_tool_and_the_driver(tmp_path: Path) -> None:
    build = ExportBuilder("2026.2").kernel(1, 2)
    tid = global_tid(100, 5)
    for start, kind in ((10, 2), (20, 3), (30, 6), (40, 7), (50, 8), (60, 1)):
        row = {"start": start, "end": start + 5, "globalTid": tid, "correlationId": 9, "overheadType": kind}
        build.add("CUPTI_ACTIVITY_KIND_OVERHEAD", **row)
    build.add("PROFILER_OVERHEAD", start=70, end=80, globalTid=tid, overheadType=0)
    build.add("CUPTI_ACTIVITY_KIND_JIT", start=90, end=99, globalTid=tid, overheadType=2)
    overheads = collected(opened(build, tmp_path), events.Overheads)
    assert overheads.frame.select("start_ns", "kind").rows() == [
        (10, OverheadKind.JIT),
        (20, OverheadKind.PROFILER),
        (30, OverheadKind.MODULE_LOADING),
        (40, OverheadKind.LAZY_LOADING),
        (50, OverheadKind.COMMAND_BUFFER_FULL),
        (70, OverheadKind.PROFILER),
        (90, OverheadKind.JIT),
    ]


def test_overhead_rows_that_the_exporter_could_not_name_are_the_drivers(tmp_path: Path) -> None:
    """nsys 2023.4 writes the driver's lazy loading as "Unknown" into the profiler's own table."""
    build = ExportBuilder("2023.4").kernel(1, 2)
    tid = global_tid(100, 5)
    for start, name in ((10, "Unknown"), (20, "CUPTI: Buffer flush")):
        build.add("PROFILER_OVERHEAD", start=start, end=start + 5, globalTid=tid, nameId=build.text(name))
    overheads = collected(opened(build, tmp_path), events.Overheads)
    assert overheads.kind.tolist() == [OverheadKind.UNNAMED, OverheadKind.PROFILER]


@pytest.mark.parametrize("suffix", ["_V2", "_V3"])
def test_version_suffixes_of_activity_tables_are_recognised(suffix: str, tmp_path: Path) -> None:
    build = program("2026.2")
    table = "CUPTI_ACTIVITY_KIND_KERNEL"
    build.columns[table + suffix] = build.columns[table]
    build.rows[table + suffix] = build.rows.pop(table)
    kernels = collected(opened(build, tmp_path), events.Kernels)
    assert len(kernels) == 1


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("NVTX_EVENTS", "textId"),
        ("NVTX_EVENTS", "endGlobalTid"),
        ("NVTX_EVENTS", "eventType"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "graphNodeId"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "shortName"),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind"),
    ],
)
def test_a_missing_column_costs_only_what_it_held(table: str, column: str, tmp_path: Path) -> None:
    build = program("2023.4")
    build.columns[table].remove(column)
    trace = opened(build, tmp_path)
    kernels, calls = collected(trace, events.Kernels), collected(trace, events.ApiCalls)
    assert (len(kernels), len(calls)) == (1, 3)
    assert [p.pid for p in trace.processes] == [100]
    assert trace.names[int(kernels.name[0])] == "axpy"


@pytest.mark.parametrize(
    ("recorded", "plain"),
    [
        ("cudaLaunchKernel_v7000", "cudaLaunchKernel"),
        ("cudaLaunchKernelExC_ptsz_v11060", "cudaLaunchKernelExC"),
        ("cudaMemcpyAsync_ptds_v7000", "cudaMemcpyAsync"),
        ("cuMemFree_v2", "cuMemFree"),
        ("cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo"),
        ("cuGraphAddKernelNode_v3", "cuGraphAddKernelNode"),
        ("cuLaunchKernelEx", "cuLaunchKernelEx"),
        ("", ""),
    ],
)
def test_call_names_lose_their_abi_suffix(recorded: str, plain: str) -> None:
    assert api_name(recorded) == plain
