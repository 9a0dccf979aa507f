"""NVTX ranges: names, domains, threads, open ends, and the GIL trace among them."""

from __future__ import annotations

from pathlib import Path

from sqlite_build import ExportBuilder, collected, global_tid, opened

from stallscope.model import events
from stallscope.model.trace import Trace


def ranges(trace: Trace) -> list[tuple[str, str, int, int]]:
    rows = collected(trace, events.NvtxRanges).frame.select("name", "domain", "start_ns", "end_ns").rows()
    return [(trace.names[name], trace.names[domain], start, end) for name, domain, start, end in rows]


def test_open_ranges_end_with_the_trace(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(100, 900).range(50, None, "never popped").range(950, None, "after everything")
    assert ranges(opened(build, tmp_path)) == [("never popped", "", 50, 950), ("after everything", "", 950, 950)]


def test_start_end_ranges_on_one_thread_are_ranges_and_crossing_ones_are_not(tmp_path: Path) -> None:
    here, there = global_tid(100, 5), global_tid(100, 6)
    build = ExportBuilder().kernel(1, 2)
    build.range(10, 20, "same", eventType=60, endGlobalTid=here)
    build.range(11, 21, "unknown end", eventType=60, endGlobalTid=None)
    build.range(12, 22, "crossing", eventType=60, endGlobalTid=there)
    trace = opened(build, tmp_path)
    assert [name for name, *_ in ranges(trace)] == ["same", "unknown end"]
    crossing = collected(trace, events.CrossThreadRanges)
    tids = [
        (trace.threads[a].tid, trace.threads[b].tid) for a, b in crossing.frame.select("thread", "end_thread").rows()
    ]
    assert tids == [(5, 6)]
    assert [trace.names[n] for n in crossing.name] == ["crossing"]


def test_marks_categories_and_domain_events_are_no_ranges(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2).range(10, None, "CCCL", eventType=75, domainId=3)
    build.range(11, None, "mark", eventType=34).range(12, None, "cat", eventType=33).range(13, 14, "real")
    assert [name for name, *_ in ranges(opened(build, tmp_path))] == ["real"]


def test_domain_numbers_belong_to_a_process(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2)
    for pid, domain in ((100, "first"), (200, "second")):
        tid = global_tid(pid, 5)
        build.range(5, None, domain, eventType=75, domainId=1, globalTid=tid)
        build.range(10 + pid, 20 + pid, "r", domainId=1, globalTid=tid)
    assert [domain for _, domain, *_ in ranges(opened(build, tmp_path))] == ["first", "second"]


def test_a_domain_created_before_the_capture_goes_by_its_number(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2).range(10, 20, "mine", domainId=4).range(11, 19, "ncclSend", domainId=9)
    build.range(12, 18, "ncclGroupEnd", domainId=9)
    assert [(name, domain) for name, domain, *_ in ranges(opened(build, tmp_path))] == [
        ("mine", "domain 4"),
        ("ncclSend", "NCCL"),
        ("ncclGroupEnd", "NCCL"),
    ]


def test_the_gil_trace_is_no_range(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2).range(5, None, "GIL Trace", eventType=75, domainId=1)
    build.range(10, 20, "Waiting for GIL", domainId=1).range(20, 30, "Holding GIL", domainId=1).range(5, 50, "step")
    trace = opened(build, tmp_path)
    assert [name for name, *_ in ranges(trace)] == ["step"]
    gil = collected(trace, events.GilSpans)
    assert gil.frame.select("start_ns", "end_ns", "waiting").rows() == [(10, 20, True), (20, 30, False)]
    assert trace.capture.collected["gil"] == "yes"


def test_equal_operators_of_pytorch_share_a_name(tmp_path: Path) -> None:
    build = ExportBuilder().kernel(1, 2)
    build.range(10, 20, "aten::mul, seq = 45328, op_id = 990726").range(30, 40, "aten::mul, op_id = 7")
    build.range(50, 60, "aten::mm, seq = 1, op_id = 2, sizes = [[2, 3]]").range(70, 80, "my, own = 3")
    assert [name for name, *_ in ranges(opened(build, tmp_path))] == [
        "aten::mul",
        "aten::mul",
        "aten::mm, sizes = [[2, 3]]",
        "my, own = 3",
    ]


def test_ranges_without_a_thread_are_counted(tmp_path: Path) -> None:
    trace = opened(ExportBuilder().kernel(1, 2).range(10, 20, "r", globalTid=None), tmp_path)
    assert ranges(trace) == []
    assert "NVTX_EVENTS: no thread" in trace.capture.notes[0].message
