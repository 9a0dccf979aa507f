"""Device numbers are private to a process; a report is about physical GPUs."""

from __future__ import annotations

from pathlib import Path

from sqlite_build import ExportBuilder, collected, global_pid, notes, opened

from stallscope.model import events
from stallscope.model.trace import Trace


def gpus_of_kernels(trace: Trace) -> list[str]:
    return [trace.devices[d].label for d in collected(trace, events.Kernels).device]


def two_gpus(build: ExportBuilder) -> ExportBuilder:
    for number in (0, 1):
        build.add(
            "TARGET_INFO_GPU",
            vmId=1 << 48, id=number, name="Synthetic GPU", cuDevice=number, uuid=f"gpu-{number}aa", smCount=8,
            l2CacheSize=1024, memoryBandwidth=10**9, computeMajor=9, computeMinor=0,
        )  # fmt: skip
    return build


def test_cuda_visible_devices_does_not_merge_two_gpus(tmp_path: Path) -> None:
    """Both processes say device 0; the table of the export tells that they mean different GPUs."""
    build = two_gpus(ExportBuilder("2026.2")).kernel(10, 20, pid=1).kernel(12, 22, pid=2)
    build.add("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=1, uuid="GPU-0AA")
    build.add("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=0, pid=2, uuid="GPU-1AA")
    trace = opened(build, tmp_path)
    assert gpus_of_kernels(trace) == ["GPU 0", "GPU 1"]
    first = trace.devices[0]
    assert (first.uuid, first.l2_bytes, first.memory_bandwidth_bytes_per_s, first.compute_capability) == (
        "0aa", 1024, 10**9, "9.0",
    )  # fmt: skip
    assert "env.device_mapping" not in notes(trace)


def test_two_processes_on_one_gpu_share_it(tmp_path: Path) -> None:
    build = two_gpus(ExportBuilder("2026.2")).kernel(10, 20, pid=1).kernel(12, 22, pid=2)
    for pid in (1, 2):
        build.add("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=0, pid=pid, uuid="1aa")
    assert gpus_of_kernels(opened(build, tmp_path)) == ["GPU 1", "GPU 1"]


def test_without_that_table_equal_numbers_are_one_gpu_and_a_note_says_so(tmp_path: Path) -> None:
    build = two_gpus(ExportBuilder()).kernel(10, 20, pid=1).kernel(12, 22, pid=2)
    trace = opened(build, tmp_path)
    assert gpus_of_kernels(trace) == ["GPU 0", "GPU 0"]
    assert "CUDA_VISIBLE_DEVICES" in notes(trace)["env.device_mapping"]


def test_one_gpu_alone_needs_no_such_note(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(10, 20, pid=1).kernel(30, 40, pid=2)
    build.add("TARGET_INFO_GPU", vmId=1 << 48, id=0, name="Synthetic GPU", cuDevice=0)
    assert "env.device_mapping" not in notes(opened(build, tmp_path))


def test_driver_numbers_win_over_table_order(tmp_path: Path) -> None:
    """TARGET_INFO_GPU.id may count the other way round than CUDA does."""
    build = ExportBuilder().kernel(10, 20, deviceId=0)
    build.add("TARGET_INFO_GPU", vmId=1 << 48, id=3, name="first for CUDA", cuDevice=0)
    build.add("TARGET_INFO_GPU", vmId=1 << 48, id=0, name="last for CUDA", cuDevice=3)
    trace = opened(build, tmp_path)
    assert [(d.label, d.name) for d in trace.devices] == [("GPU 0", "first for CUDA")]


def test_a_device_that_no_table_describes_is_still_a_device(tmp_path: Path) -> None:
    trace = opened(ExportBuilder().kernel(10, 20, deviceId=5), tmp_path)
    assert [(d.label, d.name, d.uuid) for d in trace.devices] == [("GPU 5", "", "")]


def test_gpus_of_two_hosts_in_one_file_stay_apart(tmp_path: Path) -> None:
    build = ExportBuilder()
    for vm in (1, 2):
        build.add("TARGET_INFO_GPU", vmId=vm << 48, id=0, name=f"host {vm}", cuDevice=0)
        build.kernel(10 * vm, 10 * vm + 5, globalPid=global_pid(100, vm))
    trace = opened(build, tmp_path)
    assert [(d.label, d.name) for d in trace.devices] == [("GPU 0", "host 1"), ("GPU 0b", "host 2")]


def test_syncs_lie_on_the_device_of_their_context_whatever_their_row_says(tmp_path: Path) -> None:
    """Real exports write device 0 into the synchronization rows of every process."""
    build = two_gpus(ExportBuilder()).kernel(10, 20, pid=2, deviceId=1, contextId=3)
    sync = {"contextId": 3, "globalPid": global_pid(2), "syncType": 3, "streamId": 7}
    build.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=30, end=40, deviceId=0, **sync)
    trace = opened(build, tmp_path)
    assert [trace.devices[d].label for d in collected(trace, events.Syncs).device] == ["GPU 1"]
    assert [d.label for d in trace.devices] == ["GPU 1"]


def test_metrics_and_switches_follow_the_gpu_not_the_cuda_number(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(10, 20, deviceId=0).kernel(11, 21, deviceId=1)
    for gpu, cuda in ((1, 0), (0, 1)):
        build.add("TARGET_INFO_GPU", vmId=1 << 48, id=gpu, cuDevice=cuda, name=f"id {gpu}")
    for type_id, metric in ((256 + 1, "DRAM Read"), (256 + 0, "DRAM Read"), (256 + 7, "of an unused GPU")):
        build.add("TARGET_INFO_GPU_METRICS", typeId=type_id, sourceId=1, metricId=4, metricName=metric)
        build.add("GPU_METRICS", timestamp=100, typeId=type_id, metricId=4, value=50)
    for sequence, (tag, pid) in enumerate(((8, 100), (9, 100), (7, 100), (8, None))):
        key = None if pid is None else global_pid(pid)
        build.add("GPU_CONTEXT_SWITCH_EVENTS", tag=tag, seqNo=sequence, timestamp=50 + sequence, globalPid=key, gpuId=1)
    trace = opened(build, tmp_path)
    metrics = collected(trace, events.GpuMetrics)
    rows = [
        (trace.devices[d].name, trace.names[m], v)
        for d, m, v in metrics.frame.select("device", "metric", "value").rows()
    ]
    assert rows == [("id 1", "DRAM Read", 50.0), ("id 0", "DRAM Read", 50.0)]
    switches = collected(trace, events.ContextSwitches)
    gained = [
        (trace.devices[d].name, trace.processes[p].pid, g)
        for d, p, g in switches.frame.select("device", "process", "gained").rows()
    ]
    assert gained == [("id 1", 100, True), ("id 1", 100, False), ("id 1", 0, True)]
