from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stallscope.ingest.kineto import read_kineto
from stallscope.model.trace import Trace
from stallscope.timeline.collectives import CollectiveKind, Communicator, collective_log
from stallscope.timeline.timeline import Timeline


def read(folder: Path, *events: dict[str, Any]) -> Trace:
    import json

    path = folder / "t.json"
    path.write_text(json.dumps({"traceEvents": list(events)}))
    return read_kineto(path)


def row(category: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def nccl(ts: float, stream: int, name: str = "ncclDevKernel_AllReduce_Sum_f32_RING_LL", **args: Any) -> dict[str, Any]:
    return row("kernel", name, ts, 5, device=0, context=1, stream=stream, **args)


def test_streams_stand_for_communicators_where_no_group_is_recorded(tmp_path: Path) -> None:
    trace = read(tmp_path, nccl(10, 30), nccl(20, 20), nccl(30, 30), row("kernel", "gemm", 1, 1, device=0, stream=7))
    log = collective_log(Timeline(trace))
    assert log.communicators == (Communicator("stream 0", by_order=True), Communicator("stream 1", by_order=True))
    assert log.ops.communicator.tolist() == [0, 1, 0]
    assert log.ops.sequence.tolist() == [-1, -1, -1]


def test_recorded_groups_name_the_communicator_and_the_operation(tmp_path: Path) -> None:
    facts = {"Collective name": "_allgather_base", "Process Group Name": "7", "Process Group Ranks": "[0, 4]", "Seq": 3}
    log = collective_log(Timeline(read(tmp_path, nccl(10, 30, "ncclDevKernel_Generic", **facts), nccl(20, 30))))
    assert log.communicators == (Communicator("7", (0, 4)), Communicator("stream 0", by_order=True))
    assert log.ops.kind.tolist() == [CollectiveKind.ALL_GATHER, CollectiveKind.ALL_REDUCE]
    assert log.ops.sequence.tolist() == [3, -1]


def test_an_annotation_tells_what_a_send_receive_kernel_is(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        row("user_annotation", "nccl:all_to_all", 1, 10),
        row("cpu_op", "c10d::alltoall_base_", 2, 8),
        row("cuda_runtime", "cudaLaunchKernel", 3, 1, correlation=5),
        nccl(20, 30, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", correlation=5),
        nccl(30, 30, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", correlation=6),
    )
    log = collective_log(Timeline(trace))
    assert log.ops.kind.tolist() == [CollectiveKind.ALL_TO_ALL, CollectiveKind.SEND_RECV]


def test_a_real_trace_of_two_ranks_has_its_collectives(shared: Path) -> None:
    log = collective_log(Timeline(read_kineto(shared / "corpus" / "k01-hta" / "nccl_data.json.gz")))
    kinds = log.ops.kind.tolist()
    assert kinds.count(CollectiveKind.ALL_REDUCE) == 15
    assert kinds.count(CollectiveKind.BROADCAST) == 6
    assert log.communicators == (Communicator("0", (0, 1)),)
    assert int(log.ops.bytes.max()) == pytest.approx(26_550_272, rel=0.5)
