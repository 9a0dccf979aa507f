from __future__ import annotations

from pathlib import Path

import pytest
from kineto_text import call, event, kernel, read, write

from stallscope.errors import InputError
from stallscope.ingest.kineto import read_kineto
from stallscope.model.events import (
    ApiCalls,
    Collectives,
    Copies,
    CopyKind,
    EventRecords,
    Kernels,
    MemoryKind,
    Memsets,
    NvtxRanges,
    OverheadKind,
    Overheads,
    SyncKind,
    Syncs,
)
from stallscope.model.trace import Trace


def notes(trace: Trace) -> dict[str, str]:
    return {note.id: note.message for note in trace.capture.notes}


def table(trace: Trace, kind: type) -> object:
    found = trace.table(kind)
    assert found is not None
    return found


def test_a_kernel_and_its_launch(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        call(10, 3, 5),
        kernel(
            14.125,
            2.5,
            5,
            "void at::native::add_kernel<4, float>(int)",
            **{"registers per thread": 32, "shared memory": 64},
        ),
        distributedInfo={"rank": 3, "backend": "nccl"},
        deviceProperties=[{"id": 0, "name": "NVIDIA H200", "numSms": 132, "computeMajor": 9, "computeMinor": 0}],
        cuda_runtime_version=13000,
        cuda_driver_version=13010,
        username="somebody",
    )
    kernels, calls = trace.table(Kernels), trace.table(ApiCalls)
    assert kernels is not None
    assert calls is not None
    assert (kernels.start_ns[0], kernels.end_ns[0]) == (4125, 6625)
    assert (calls.start_ns[0], calls.end_ns[0], trace.origin_ns) == (0, 3000, 10_000)
    assert trace.names[kernels.name[0]] == "add_kernel"
    assert trace.names[kernels.full_name[0]] == "void at::native::add_kernel<4, float>(int)"
    assert (kernels.grid_x[0], kernels.grid_y[0], kernels.block_x[0]) == (4, 2, 128)
    assert (kernels.registers[0], kernels.shared_bytes[0], kernels.stream[0], kernels.context[0]) == (32, 64, 7, 1)
    assert kernels.correlation[0] == calls.correlation[0] == 5
    assert trace.devices[0].label == "GPU 0"
    assert (trace.devices[0].name, trace.devices[0].sm_count) == ("NVIDIA H200", 132)
    assert (trace.source.rank, trace.source.format, trace.source.name) == (3, "kineto", "t.json")
    assert trace.source.producer == "PyTorch profiler (CUDA 13000)"
    assert trace.processes[0].pid == trace.threads[calls.thread[0]].tid == 100
    assert trace.capture.cuda_driver_version == "13010"
    assert trace.capture.notes == ()


def test_absolute_times_with_three_decimals_are_exact(tmp_path: Path) -> None:
    text = '{"traceEvents":[%s]}' % ",".join(  # noqa: UP031 - braces
        '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%s,"dur":%s,"args":{}}' % pair  # noqa: UP031
        for pair in (("1712195495520871.001", "0.499"), ("1712195495520871.999", "1"), ("1712195495520873", "0.0004"))
    )
    path = tmp_path / "t.json"
    path.write_text(text)
    trace = read_kineto(path)
    kernels = trace.table(Kernels)
    assert kernels is not None
    assert trace.origin_ns == 1712195495520871001
    assert kernels.start_ns.tolist() == [0, 998, 1999]
    assert kernels.end_ns.tolist() == [499, 1998, 1999]


def test_base_time_moves_the_origin_and_not_the_trace_clock(tmp_path: Path) -> None:
    trace = read(tmp_path, kernel(2, 1), baseTimeNanoseconds=1_790_857_026_000_000_000)
    kernels = trace.table(Kernels)
    assert kernels is not None
    assert kernels.start_ns[0] == 0
    assert trace.origin_ns == 1_790_857_026_000_002_000


@pytest.mark.parametrize("packed", [True, False])
def test_bare_lists_old_categories_and_string_threads(tmp_path: Path, packed: bool) -> None:  # noqa: FBT001
    rows = [
        event("Operator", "aten::add", 1, 20, tid="3340707648"),
        event("Operator", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0.5, 30, tid="3340707648"),
        event("Runtime", "cudaLaunchKernel", 2, 3, tid="3340707648", correlation=9, **{"external id": 0}),
        event("Kernel", "k", 8, 0, pid=0, tid="stream 7", correlation=9),
        event("Memcpy", "Memcpy HtoD (Pageable -> Device)", 9, 4, pid=0, tid="stream 7", bytes=64),
        event("Memset", "Memset (Device)", 14, 1, pid=0, tid="stream 7", bytes=16),
    ]
    trace = read_kineto(write(tmp_path, rows, packed=packed, bare=True))
    kernels, copies, ranges = trace.table(Kernels), trace.table(Copies), trace.table(NvtxRanges)
    assert kernels is not None
    assert copies is not None
    assert ranges is not None
    assert (kernels.stream[0], len(table(trace, Memsets))) == (7, 1)  # type: ignore[arg-type]
    assert kernels.start_ns[0] == kernels.end_ns[0] == 7500
    assert (copies.kind[0], copies.source_kind[0], copies.target_kind[0]) == (
        CopyKind.HOST_TO_DEVICE,
        MemoryKind.PAGEABLE,
        MemoryKind.DEVICE,
    )
    assert [trace.names[d] for d in ranges.domain] == ["", "operator"]
    assert {t.tid for t in trace.threads} == {3340707648}
    assert "length 0" in notes(trace)["env.data_quality"]


def test_lost_times_are_dropped_and_counted(tmp_path: Path) -> None:
    lost = [kernel(0, 0, i) for i in range(1, 1001)]
    trace = read(tmp_path, *lost, kernel(50, 5, 2000), call(0, 7, 2000), kernel(60, -1), {"ph": "X", "cat": "kernel"})
    assert table(trace, Kernels).start_ns.tolist() == [0]  # type: ignore[attr-defined]
    assert trace.origin_ns == 50_000
    assert "1002 device events" in notes(trace)["env.dropped_events"]
    assert "1 host events" in notes(trace)["env.data_quality"]


def test_projected_annotations_and_flows_are_no_work(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        event("gpu_user_annotation", "step", 1, 100, pid=0, tid=7),
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 1, "ts": 3, "pid": 0, "tid": 7},
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
        kernel(10, 10),
    )
    assert len(table(trace, Kernels)) == 1  # type: ignore[arg-type]
    assert set(trace.tables) == {Kernels, Copies, Memsets}


def test_annotations_become_ranges_without_folders_and_steps_repeat(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        event("user_annotation", "ProfilerStep#12", 1, 10),
        event("user_annotation", "ProfilerStep#13", 11, 10),
        event("user_annotation", "load /data/secret/run 1/a.bin", 2, 1),
        event("python_function", "/home/me/project/train.py(62): <module>", 3, 1),
        event("python_function", "<built-in method item of Tensor object at 0x7f00>", 4, 1),
        event("python_function", "torch/nn/modules/module.py(1518): _call_impl", 5, 1),
        event("python_function", "nn.Module: Linear_0", 6, 1),
        event("python_function", "torch/utils/data/dataloader.py(728): __next__", 7, 1),
        event("cpu_op", "aten::mm", 8, 1),
    )
    ranges = trace.table(NvtxRanges)
    assert ranges is not None
    assert [(trace.names[n], trace.names[d]) for n, d in zip(ranges.name, ranges.domain, strict=True)] == [
        ("ProfilerStep", ""),
        ("load run 1/a.bin", ""),
        ("train.py(62): <module>", "python"),
        ("nn.Module: Linear_0", "python"),
        ("torch/utils/data/dataloader.py(728): __next__", "python"),
        ("aten::mm", "operator"),
        ("ProfilerStep", ""),
    ]
    assert trace.devices == ()
    assert "env.no_gpu_activity" in notes(trace)
    assert trace.capture.collected["kernels"] == "no"


def test_hip_calls_keep_their_names_and_tell_the_copies_direction(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        call(10, 3, 5, "hipMemcpyWithStream", kind="2", bytes="8"),
        event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 12, 1, pid=2, device=2, stream=0, correlation=5),
        call(20, 3, 6, "hipFree"),
        call(30, 3, 7, "cudaMallocAsync_v11020"),
        deviceProperties=[{"id": i, "name": "AMD Instinct MI300X"} for i in range(8)],
        hip_runtime_version=60443483,
    )
    copies, calls = trace.table(Copies), trace.table(ApiCalls)
    assert copies is not None
    assert calls is not None
    assert (copies.kind[0], copies.bytes[0]) == (CopyKind.DEVICE_TO_HOST, 8)
    assert [trace.names[n] for n in calls.name] == ["hipMemcpyWithStream", "hipFree", "cudaMallocAsync"]
    assert (trace.devices[0].label, trace.devices[0].name) == ("GPU 2", "AMD Instinct MI300X")
    assert trace.source.producer == "PyTorch profiler (HIP 60443483)"


def test_device_work_belongs_to_the_process_of_its_call(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        call(1, 1, 5, pid=100),
        call(2, 1, 6, pid=100),
        call(3, 1, 7, pid=200),
        kernel(10, 1, 5),
        kernel(12, 1, 7),
        kernel(14, 1, 0),
    )
    kernels = trace.table(Kernels)
    assert kernels is not None
    assert [trace.processes[p].pid for p in kernels.process] == [100, 200, 100]


def test_syncs_name_the_record_they_wait_for_and_queries_are_left_out(tmp_path: Path) -> None:
    wait = {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 3, "wait_on_cuda_event_id": 9, "device": 0}
    trace = read(
        tmp_path,
        kernel(1, 1, 1),
        call(2, 1, 3, "cudaEventRecord"),
        call(4, 1, 4, "cudaStreamWaitEvent"),
        call(5, 1, 5, "cudaEventQuery"),
        call(6, 3, 6, "cudaDeviceSynchronize"),
        event("cuda_sync", "Stream Wait Event", 4, 1, pid=0, correlation=4, stream=20, context=1, **wait),
        event("cuda_sync", "Event Sync", 5, 1, pid=0, correlation=5, stream=-1, context=1, **wait),
        event("cuda_sync", "Context Sync", 6, 3, pid=0, correlation=6, stream=-1, context=1, device=0),
    )
    syncs, records = trace.table(Syncs), trace.table(EventRecords)
    assert syncs is not None
    assert records is not None
    assert syncs.kind.tolist() == [SyncKind.STREAM_WAIT_EVENT, SyncKind.CONTEXT]
    assert syncs.stream.tolist() == [20, -1]
    assert syncs.event_sync.tolist() == [3, 0]
    assert (records.stream[0], records.event_sync[0], records.correlation[0], len(records)) == (7, 3, 3, 1)


def test_overheads_tell_the_profilers_own_from_the_drivers(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        kernel(1, 1),
        event("overhead", "Activity Buffer Request", 2, 1, pid=-1, tid=0),
        event("overhead", "Command Buffer Full", 4, 1),
        event("overhead", "Lazy Function Loading", 6, 1),
    )
    overheads = trace.table(Overheads)
    assert overheads is not None
    assert overheads.kind.tolist() == [
        OverheadKind.PROFILER,
        OverheadKind.COMMAND_BUFFER_FULL,
        OverheadKind.LAZY_LOADING,
    ]


def test_collectives_from_the_kernel_or_from_the_operator_that_issued_it(tmp_path: Path) -> None:
    facts = {
        "Collective name": "allreduce",
        "In msg nelems": 1000,
        "Out msg nelems": 1000,
        "dtype": "BFloat16",
        "Process Group Name": "3",
        "Process Group Ranks": "[0, 1]",
        "Group size": 2,
    }
    trace = read(
        tmp_path,
        event("cpu_op", "record_param_comms", 1, 5, **{"External id": 77, **facts, "Seq": 4}),
        kernel(30, 1, 1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", **{"External id": 78, **facts, "Seq": 5}),
        kernel(20, 1, 2, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", **{"External id": 77}),
        kernel(25, 1, 3, "gemm", **{"External id": 79}),
    )
    found = trace.table(Collectives)
    assert found is not None
    assert found.kernel.tolist() == [0, 2]
    assert found.sequence.tolist() == [4, 5]
    assert found.bytes.tolist() == [2000, 2000]
    assert found.group_size.tolist() == [2, 2]
    assert [trace.names[n] for n in found.members] == ["0,1", "0,1"]
    assert [trace.names[n] for n in found.communicator] == ["3", "3"]


def test_replays_without_kernels_are_graph_level(tmp_path: Path) -> None:
    launches = [call(10 * i, 3, i, "cudaGraphLaunch") for i in range(1, 5)]
    hidden = read(tmp_path, *launches, kernel(1, 1, 99))
    assert hidden.capture.graph_trace == "graph"
    assert "env.graph_level_trace" in notes(hidden)
    shown = read(tmp_path, *launches, *(kernel(10 * i + 4, 1, i) for i in range(1, 5)))
    assert shown.capture.graph_trace == "node"


@pytest.mark.parametrize(
    ("category", "accelerator"), [("mtia_runtime", "MTIA"), ("hpu_op", "Gaudi"), ("xpu_runtime", "Intel")]
)
def test_other_accelerators_are_refused_by_name(tmp_path: Path, category: str, accelerator: str) -> None:
    with pytest.raises(InputError, match=accelerator):
        read(tmp_path, event(category, "run", 1, 1))


def test_nothing_private_leaves_the_reader(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        kernel(1, 1),
        event("user_annotation", "C:\\Users\\me\\run.py", 2, 1),
        host_name="node17",
        username="somebody",
        deviceProperties=[{"id": 0, "name": "H100", "uuid": "secret"}],
    )
    told = repr((trace.source, trace.devices, trace.capture, tuple(trace.names)))
    assert not any(word in told for word in ("node17", "somebody", "/home", "Users", "secret"))
