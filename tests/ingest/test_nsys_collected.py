"""Collected and empty, not collected, unknown: three answers, and the notes that explain them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlite_build import CUDA_AND_NVTX, ExportBuilder, collected, global_pid, notes, opened

from stallscope.ingest.nsys_capture import scrubbed
from stallscope.model import events

KEYS = {"kernels", "api", "copies", "nvtx", "uvm_faults", "osrt", "memory_usage"}


def launched(**capture: str) -> ExportBuilder:
    build = ExportBuilder(capture={**CUDA_AND_NVTX, **capture})
    return build.call(1, 5, "cudaLaunchKernel_v7000", correlationId=1).kernel(10, 20, correlationId=1)


def test_traced_and_empty_is_an_empty_table(tmp_path: Path) -> None:
    trace = opened(launched(), tmp_path)
    assert set(trace.capture.collected) >= KEYS
    for kind in (events.Copies, events.Memsets, events.Migrations, events.Syncs, events.NvtxRanges, events.GraphRuns):
        assert len(collected(trace, kind)) == 0
    assert trace.capture.collected["nvtx"] == trace.capture.collected["copies"] == "yes"


def test_not_traced_is_absent(tmp_path: Path) -> None:
    trace = opened(launched(), tmp_path)
    for kind in (events.OsCalls, events.GpuFaults, events.MemoryEvents, events.GilSpans, events.GpuMetrics):
        assert trace.table(kind) is None
    answers = trace.capture.collected
    assert (answers["osrt"], answers["uvm_faults"], answers["memory_usage"], answers["gil"]) == ("no",) * 4


def test_switched_on_but_nothing_happened(tmp_path: Path) -> None:
    on = {
        "COLLECT_UVM_GPU_PAGE_FAULTS": "true",
        "COLLECT_GPU_MEMORY_USAGE": "true",
        "CAPTURE_EVENT_TYPE#3": "OSRuntime",
    }
    trace = opened(launched(**on), tmp_path)
    assert len(collected(trace, events.GpuFaults)) == len(collected(trace, events.MemoryEvents)) == 0
    assert len(collected(trace, events.OsCalls)) == 0
    assert trace.table(events.CpuFaults) is None
    assert trace.capture.collected["uvm_faults"] == "yes"


def test_the_session_switch_beats_a_process_that_says_no(tmp_path: Path) -> None:
    both = {"COLLECT_GPU_MEMORY_USAGE": "true", "PROCESS_0:COLLECT_GPU_MEMORY_USAGE": "false"}
    assert len(collected(opened(launched(**both), tmp_path), events.MemoryEvents)) == 0


def test_older_exporters_say_it_per_process(tmp_path: Path) -> None:
    trace = opened(launched(**{"PROCESS_0:COLLECT_UVM_CPU_PAGE_FAULTS": "true"}), tmp_path)
    assert len(collected(trace, events.CpuFaults)) == 0


def test_without_capture_metadata_other_tables_are_unknown(tmp_path: Path) -> None:
    build = ExportBuilder("2022.4").call(1, 5, "cudaLaunchKernel").kernel(10, 20)
    answers = opened(build, tmp_path).capture.collected
    assert (answers["kernels"], answers["copies"]) == ("yes", "yes")
    assert (answers["nvtx"], answers["osrt"], answers["memory_usage"]) == ("unknown",) * 3


def test_the_empty_tables_of_a_full_export_prove_nothing(tmp_path: Path) -> None:
    build = launched().empty("OSRT_API").empty("CUDA_UM_GPU_PAGE_FAULT_EVENTS").empty("CUPTI_ACTIVITY_KIND_MEMCPY")
    build.add("META_DATA_EXPORT", name="EXPORT_PARAM_LAZY", value="false")
    trace = opened(build, tmp_path)
    assert trace.table(events.OsCalls) is None
    assert trace.table(events.GpuFaults) is None
    assert len(collected(trace, events.Copies)) == 0


def test_calls_left_out_of_a_file_are_not_a_program_without_calls(tmp_path: Path) -> None:
    trace = opened(ExportBuilder(capture=CUDA_AND_NVTX).kernel(10, 20), tmp_path)
    assert trace.capture.collected["api"] == "no"
    assert trace.table(events.ApiCalls) is None


def test_a_partial_export_says_nothing_about_absent_tables(tmp_path: Path) -> None:
    build = launched().add("META_DATA_EXPORT", name="EXPORT_PARAM_TABLES_TO_EXPORT", value="KERNEL,RUNTIME")
    trace = opened(build, tmp_path)
    assert trace.table(events.Copies) is None
    assert trace.capture.collected["copies"] == "unknown"
    assert "tables" in notes(trace)["env.partial_capture"]


def test_events_recorded_but_not_traced(tmp_path: Path) -> None:
    assert len(collected(opened(launched(), tmp_path), events.EventRecords)) == 0
    trace = opened(launched().call(30, 31, "cudaEventRecord_v3020"), tmp_path)
    assert trace.table(events.EventRecords) is None


def test_event_records_are_read(tmp_path: Path) -> None:
    build = ExportBuilder("2026.2").kernel(10, 20).call(30, 31, "cudaEventRecord_v3020", correlationId=8)
    row = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": global_pid(100), "eventId": 3}
    build.add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", correlationId=8, timestamp=33, eventSyncId=5, **row)
    records = collected(opened(build, tmp_path), events.EventRecords)
    assert records.frame.select("correlation", "event", "event_sync", "time_ns").rows() == [(8, 3, 5, 33)]


def test_graph_launches_without_any_graph_table_hide_gpu_time(tmp_path: Path) -> None:
    trace = opened(launched().call(30, 35, "cudaGraphLaunch_v10000", correlationId=2), tmp_path)
    assert trace.capture.graph_trace == "graph"
    assert trace.table(events.GraphRuns) is None
    assert "--cuda-graph-trace=node" in notes(trace)["env.graph_level_trace"]


def test_kernels_of_a_graph_launch_are_a_node_trace(tmp_path: Path) -> None:
    build = launched().call(30, 35, "cudaGraphLaunch_ptsz_v10000", correlationId=2).kernel(40, 50, correlationId=2)
    trace = opened(build, tmp_path)
    assert trace.capture.graph_trace == "node"
    assert "env.graph_level_trace" not in notes(trace)


def test_node_ids_are_a_node_trace_even_without_calls(tmp_path: Path) -> None:
    trace = opened(ExportBuilder().kernel(40, 50, graphNodeId=1 << 33), tmp_path)
    assert trace.capture.graph_trace == "node"
    assert collected(trace, events.Kernels).graph_node.tolist() == [1 << 33]


def test_graph_rows_are_graph_runs(tmp_path: Path) -> None:
    build = ExportBuilder("2026.2").call(30, 35, "cudaGraphLaunch_v10000", correlationId=2)
    row = {"deviceId": 0, "contextId": 1, "streamId": 7, "globalPid": global_pid(100), "graphId": 4}
    build.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=40, end=90, correlationId=2, **row)
    build.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", start=95, end=0, correlationId=3, **row)
    trace = opened(build, tmp_path)
    assert trace.capture.graph_trace == "graph"
    assert collected(trace, events.GraphRuns).frame.select("start_ns", "end_ns", "graph").rows() == [(40, 90, 4)]
    assert "1 of CUPTI_ACTIVITY_KIND_GRAPH_TRACE: no timestamp" in notes(trace)["env.data_quality"]
    assert "env.graph_level_trace" not in notes(trace)


@pytest.mark.parametrize(("calls", "expected"), [(True, "none"), (False, "unknown")])
def test_no_graph_launch_at_all(calls: bool, expected: str, tmp_path: Path) -> None:  # noqa: FBT001
    build = launched() if calls else ExportBuilder().kernel(10, 20)
    assert opened(build, tmp_path).capture.graph_trace == expected


def test_a_report_without_cuda_repeats_what_nsys_said(tmp_path: Path) -> None:
    build = ExportBuilder("2026.2", capture=CUDA_AND_NVTX)
    for severity, text in (
        (1, "Process was launched, see /tmp/nvidia/q/stdout.log"),
        (2, "No CUDA events collected. Does the process use CUDA?"),
        (3, "Cannot load /home/someone/secret/libcuda.so: not found"),
    ):
        build.add("DIAGNOSTIC_EVENT", timestamp=severity, severity=severity, text=text)
    trace = opened(build, tmp_path)
    assert trace.devices == ()
    assert trace.capture.collected["kernels"] == "unknown"
    told = notes(trace)["env.no_gpu_activity"]
    assert "Does the process use CUDA?" in told
    assert "Cannot load <path>: not found" in told
    assert "stdout.log" not in told


def test_calls_alone_are_no_gpu_activity(tmp_path: Path) -> None:
    trace = opened(ExportBuilder(capture=CUDA_AND_NVTX).call(1, 5, "cudaGetDeviceCount_v3020"), tmp_path)
    assert trace.devices == ()
    assert notes(trace)["env.no_gpu_activity"].startswith("CUDA calls were recorded")
    assert len(collected(trace, events.Kernels)) == 0


def test_cuda_was_not_asked_for(tmp_path: Path) -> None:
    build = ExportBuilder(capture={"CAPTURE_EVENT_TYPE": "NvtxEvents"}).range(1, 5, "r")
    trace = opened(build, tmp_path)
    assert trace.capture.collected["kernels"] == "no"
    assert "--trace=cuda" in notes(trace)["env.no_gpu_activity"]


def test_lost_events_are_a_note(tmp_path: Path) -> None:
    build = ExportBuilder("2026.2").kernel(1, 2)
    text = "Couldn't allocate CUPTI bufer 3 times. Some CUPTI events may be missing."
    build.add("DIAGNOSTIC_EVENT", timestamp=1, severity=2, text=text)
    build.add("DIAGNOSTIC_EVENT", timestamp=2, severity=2, text="The driver is newer than this version of nsys.")
    assert notes(opened(build, tmp_path))["env.dropped_events"].endswith(f"“{text}”")


def test_ranges_traced_but_none_recorded(tmp_path: Path) -> None:
    assert "nvtx 0.2.13" not in str(notes(opened(launched().range(1, 2, "r"), tmp_path)))
    assert "env.no_nvtx_ranges" in notes(opened(launched(), tmp_path))


def test_an_exporter_of_the_future_is_read_with_a_note(tmp_path: Path) -> None:
    build = launched()
    build.rows["META_DATA_EXPORT"][1]["value"] = "3.99.0"
    trace = opened(build, tmp_path)
    assert len(collected(trace, events.Kernels)) == 1
    assert "3.99.0" in notes(trace)["env.newer_export"]


def test_driver_versions_are_taken_and_nothing_else_of_the_system(tmp_path: Path) -> None:
    build = launched()
    for name, value in (
        ("NvDriverVersion", "580.1"),
        ("CudaDriverVersion", "13000"),
        ("DeviceEnvironment", "TOKEN=s3cret"),
        ("Hostname", "machine-of-alice"),
    ):
        build.add("TARGET_INFO_SYSTEM_ENV", name=name, value=value)
    trace = opened(build, tmp_path)
    assert (trace.capture.driver_version, trace.capture.cuda_driver_version) == ("580.1", "13000")
    assert "s3cret" not in repr((trace.source, trace.capture, list(trace.names)))
    assert "alice" not in repr((trace.source, trace.capture, list(trace.names)))


def test_stream_kinds(tmp_path: Path) -> None:
    build = launched()
    build.enum("ENUM_CUPTI_STREAM_TYPE", {1: "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT", 2: "X_FLAG_NON_BLOCKING"})
    for stream, flag, pid in ((13, 1, 100), (14, 2, 100), (13, 2, 999)):
        place = {"hwId": 0, "vmId": 1, "processId": pid, "contextId": 1}
        build.add("TARGET_INFO_CUDA_STREAM", streamId=stream, flag=flag, priority=-5, **place)
    build.add("TARGET_INFO_CUDA_CONTEXT_INFO", nullStreamId=7, processId=100, contextId=1, deviceId=0)
    streams = collected(opened(build, tmp_path), events.Streams)
    assert streams.frame.select("stream", "flag", "priority").rows() == [
        (13, events.StreamFlag.BLOCKING, -5),
        (14, events.StreamFlag.NON_BLOCKING, -5),
        (7, events.StreamFlag.NULL, 0),
    ]


def test_host_functions_of_streams(tmp_path: Path) -> None:
    build = ExportBuilder("2026.2").kernel(1, 2)
    row = {"deviceId": 0, "contextId": 1, "streamId": 9, "globalPid": global_pid(100)}
    build.add("CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE_AND_HOST_LAUNCH", start=10, end=30, **row)
    callbacks = collected(opened(build, tmp_path), events.HostCallbacks)
    assert callbacks.frame.select("start_ns", "end_ns", "stream").rows() == [(10, 30, 9)]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see /tmp/a/b.log and stderr.log", "see <path> and stderr.log"),
        (r"opened C:\Users\alice\x.dll twice", "opened <path> twice"),
        ("4/5 of 3 and/or km/h", "4/5 of 3 and/or km/h"),
        ("bell\x07 and \x1b[31mred\u202e", "bell  and  [31mred"),
        ("file:/etc/passwd", "file:<path>"),
    ],
)
def test_messages_lose_paths_and_control_characters(text: str, clean: str) -> None:
    assert scrubbed(text) == clean
