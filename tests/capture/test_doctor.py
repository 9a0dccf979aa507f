"""What doctor says about a trace: recorded, empty, missing or unknown, and the flag for what is missing."""

from __future__ import annotations

from pathlib import Path

from stallscope.capture.doctor import examine_environment, examine_trace
from stallscope.model import events
from stallscope.model.analysis import Source
from stallscope.model.collection import FLAGS
from stallscope.model.columns import Table
from stallscope.model.names import Names
from stallscope.model.trace import CaptureInfo, Collected, Trace


def trace(
    tables: dict[type[Table], Table],
    collected: dict[str, Collected],
    graphs: str = "none",
    file_format: str = "nsys-rep",
) -> Trace:
    return Trace(
        source=Source(name="t", sha256="", format=file_format),  # type: ignore[arg-type]
        devices=(),
        processes=(),
        threads=(),
        names=Names(),
        capture=CaptureInfo(collected=collected, graph_trace=graphs),  # type: ignore[arg-type]
        tables=tables,
    )


def test_four_answers_and_the_flag_only_where_something_is_missing() -> None:
    spans = events.SchedSpans.of(start_ns=[1, 5], end_ns=[2, 9], thread=[0, 0])
    built = trace({events.SchedSpans: spans, events.Copies: events.Copies.empty()}, {"osrt": "no", "nvtx": "unknown"})
    found = {record.kind: record for record in examine_trace(built)}
    assert found.keys() == FLAGS.keys()
    sched, copies = found[events.SchedSpans], found[events.Copies]
    assert (sched.state, sched.rows, sched.remedy) == ("recorded", 2, "")
    assert (copies.state, copies.rows, copies.remedy) == ("empty", 0, "")
    assert (found[events.OsCalls].state, found[events.OsCalls].source) == ("missing", "OSRT_API")
    assert "osrt" in found[events.OsCalls].remedy
    assert found[events.NvtxRanges].state == "unknown"
    assert found[events.GpuMetrics].state == "unknown"


def test_graph_replays_that_are_invisible_are_missing() -> None:
    def state(graphs: str) -> str:
        return next(r.state for r in examine_trace(trace({}, {}, graphs)) if r.kind is events.GraphRuns)

    assert (state("graph"), state("unknown")) == ("missing", "unknown")


def test_names_are_those_of_the_traces_own_producer() -> None:
    sources = {r.kind: r.source for r in examine_trace(trace({}, {}, file_format="kineto"))}
    assert sources[events.ApiCalls] == "cuda_runtime"


def test_the_environment_is_examined_without_any_profiler(tmp_path: Path) -> None:
    found = {c.subject: c for c in examine_environment("/nowhere/nsys", "/nowhere/ncu", tmp_path / "cache")}
    assert found["nsys"].state == found["ncu"].state == "missing"
    assert found["nsys"].remedy
    assert found["disk"].state in {"ok", "limited"}
    assert not (tmp_path / "cache").exists()
