"""Real captures: every file opens or is refused with a reason, and all containers of one report agree."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path

import pytest
from sqlite_build import collected, notes

from stallscope.errors import InputError, StallscopeError, ToolMissingError
from stallscope.ingest.identify import identify
from stallscope.ingest.nsys_export import find_nsys
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model import events
from stallscope.model.trace import Trace


@pytest.fixture(scope="session")
def nsys() -> str:
    try:
        return find_nsys().program
    except ToolMissingError:
        pytest.skip("no nsys on this machine: reports cannot be exported here")


@pytest.fixture(scope="session")
def cached(tmp_path_factory: pytest.TempPathFactory) -> OpenOptions:
    return OpenOptions(cache_dir=str(tmp_path_factory.mktemp("cache")))


def attempt(path: Path, options: OpenOptions) -> Trace | StallscopeError:
    try:
        return open_trace(path, options)
    except (InputError, ToolMissingError) as refused:
        return refused


def test_every_public_file_opens_or_is_refused(shared: Path, cached: OpenOptions) -> None:
    """Only the Nsight Systems inputs: the readers of other formats have tests of their own."""
    attempts = [attempt(path, cached) for path in sorted((shared / "corpus").glob("n*/*"))]
    traces = [found for found in attempts if isinstance(found, Trace)]
    assert len(traces) == 9
    assert all(trace.source.producer.startswith("Nsight Systems 20") for trace in traces)
    refusals = [found for found in attempts if not isinstance(found, Trace)]
    assert all(refusal.file and refusal.next_step for refusal in refusals)


def test_reports_newer_than_nsys_name_the_version_they_need(shared: Path, nsys: str, cached: OpenOptions) -> None:
    if find_nsys(nsys).version >= (2025, 5, 1):
        pytest.skip("this nsys can open them")
    for path in (shared / "corpus" / "n05-jaxtoolbox").glob("*.nsys-rep"):
        with pytest.raises(InputError, match=r"made by nsys 2025\.5\.1"):
            open_trace(path, cached)


def test_files_without_cuda_say_so_with_nsys_own_words(shared: Path, cached: OpenOptions) -> None:
    for path in (shared / "corpus" / "n13-jacc").glob("*.sqlite"):
        trace = open_trace(path, cached)
        assert trace.devices == ()
        assert "Does the process use CUDA?" in notes(trace)["env.no_gpu_activity"]


def test_two_processes_on_two_gpus(shared: Path, cached: OpenOptions) -> None:
    trace = open_trace(shared / "corpus" / "n15-nsysai" / "mfu_2gpu_before.sqlite", cached)
    assert [device.label for device in trace.devices] == ["GPU 0", "GPU 1"]
    kernels, syncs = collected(trace, events.Kernels), collected(trace, events.Syncs)
    assert (kernels.process == kernels.device).all()
    assert (syncs.process == syncs.device).all()
    domains = {trace.names[d] for d in collected(trace, events.NvtxRanges).domain}
    assert domains == {"", "NCCL"}


@pytest.fixture(scope="session")
def captures(shared: Path, nsys: str, cached: OpenOptions) -> dict[str, Trace]:
    options = OpenOptions(nsys=nsys, cache_dir=cached.cache_dir)
    found = {path.stem: open_trace(path, options) for path in sorted((shared / "traces" / "h200").glob("*.nsys-rep"))}
    assert len(found) == 15
    return found


def test_captures_open_through_nsys(captures: dict[str, Trace]) -> None:
    for name, trace in captures.items():
        (device,) = trace.devices
        assert (device.label, device.name, device.sm_count) == ("GPU 0", "NVIDIA H200", 132), name
        assert trace.source.producer == "Nsight Systems 2023.4.4.54" or trace.source.format == "nsys-rep"
        assert trace.capture.driver_version.startswith("580."), name
        assert "env.data_quality" not in notes(trace), name


def test_graph_traces_of_the_captures(captures: dict[str, Trace]) -> None:
    hidden = {name for name, trace in captures.items() if "env.graph_level_trace" in notes(trace)}
    assert hidden == {"py_launch_gaps_graph"}
    assert captures["py_launch_gaps_graph_node"].capture.graph_trace == "node"
    assert captures["py_launch_gaps"].capture.graph_trace == "none"


def test_unified_memory_rows_of_the_captures(captures: dict[str, Trace]) -> None:
    """Counts that the capture's own notes give."""
    faulting, prefetching = captures["cu_uvm"], captures["cu_uvm_prefetch"]
    assert len(collected(faulting, events.Migrations)) == 22_143
    assert len(collected(faulting, events.GpuFaults)) == 492
    assert len(collected(faulting, events.CpuFaults)) == 1_152
    assert len(collected(prefetching, events.GpuFaults)) == 0
    assert len(collected(faulting, events.Copies)) == 0


@pytest.fixture(params=["py_gpt_train", "py_launch_gaps_graph_node", "cu_uvm"])
def report(request: pytest.FixtureRequest, shared: Path) -> Path:
    return shared / "traces" / "h200" / f"{request.param}.nsys-rep"


@pytest.mark.parametrize("kind", ["sqlite", "parquetdir", "arrowdir"])
def test_every_container_of_one_report_gives_the_same_tables(
    kind: str, report: Path, captures: dict[str, Trace], nsys: str, tmp_path: Path
) -> None:
    output = tmp_path / "exported"
    subprocess.run([nsys, "export", "--type", kind, "--output", output, report], check=True, capture_output=True)
    trace, expected = open_trace(output, OpenOptions(use_cache=False)), captures[report.stem]
    assert trace.tables.keys() <= expected.tables.keys()
    assert {k for k in expected.tables if len(expected.tables[k])} <= trace.tables.keys()
    for found, table in trace.tables.items():
        assert table.frame.equals(expected.tables[found].frame), found.__name__
    assert tuple(trace.names) == tuple(expected.names)


def test_counts_equal_those_of_sqlite(captures: dict[str, Trace], shared: Path, nsys: str, tmp_path: Path) -> None:
    output = tmp_path / "r.sqlite"
    dataloader = shared / "traces" / "h200" / "py_dataloader.nsys-rep"
    subprocess.run(
        [nsys, "export", "--type", "sqlite", "--output", output, dataloader], check=True, capture_output=True
    )
    assert identify(output) == "nsys-sqlite"
    connection = sqlite3.connect(output)
    trace = captures["py_dataloader"]
    for table, kind in (
        ("CUPTI_ACTIVITY_KIND_KERNEL", events.Kernels),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", events.ApiCalls),
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", events.Syncs),
        ("CUDA_GPU_MEMORY_USAGE_EVENTS", events.MemoryEvents),
    ):
        query = f'SELECT count(*), sum("start") FROM {table}'  # noqa: S608
        rows, starts = connection.execute(query).fetchone()
        found = collected(trace, kind)
        column = "time_ns" if kind is events.MemoryEvents else "start_ns"
        assert (len(found), int(found.array(column).sum())) == (rows, starts), table
    connection.close()
