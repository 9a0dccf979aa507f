"""Stallscope's sums, launches and projections equal those of `nsys stats`, but for the documented differences."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from nsys_compare import DIFFERENCES, Verdict, compare, judge
from nsys_stats import REPORTS, stats
from sqlite_build import CUDA_AND_NVTX, ExportBuilder

from stallscope.errors import ToolMissingError
from stallscope.ingest.nsys_export import find_nsys
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model import events
from stallscope.timeline.timeline import Timeline

SAMPLES = Path(__file__).resolve().parent.parent.parent / "sample_traces"
FAMILIES = sorted({path.parent: path for path in sorted(SAMPLES.glob("*/*.sqlite"))}.values())
"""One capture a family; benchmarks/nsys_differential.py compares all of them."""
CHOSEN = [*FAMILIES, *(SAMPLES / "h200" / f"{name}.sqlite" for name in ("py_gpt_train", "cu_uvm", "py_dataloader"))]


@pytest.fixture(scope="module")
def nsys(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An nsys whose `stats` works: some packages lack parts of it."""
    try:
        program = find_nsys().program
    except ToolMissingError:
        pytest.skip("no nsys on this machine: nothing to compare with")
    said = stats(program, SAMPLES / "h200" / "py_gpt_train.sqlite", tmp_path_factory.mktemp("probe"))
    lost = {report: why for report, why in said.missing.items() if report != "osrt_sum"}
    if lost:
        pytest.skip(f"nsys stats does not work on this machine: {lost}")
    return program


@pytest.fixture(scope="module")
def verdicts(nsys: str, tmp_path_factory: pytest.TempPathFactory) -> Mapping[Path, Verdict]:
    return {path: compare(nsys, path, tmp_path_factory.mktemp("stats")) for path in CHOSEN}


def test_captures_differ_from_nsys_in_documented_ways_only(verdicts: Mapping[Path, Verdict]) -> None:
    assert {path.name: verdict.unexplained for path, verdict in verdicts.items() if verdict.unexplained} == {}


def test_every_report_was_compared_on_some_capture(verdicts: Mapping[Path, Verdict]) -> None:
    compared = {report for verdict in verdicts.values() for report, count in verdict.compared.items() if count}
    assert compared == set(REPORTS)


def test_a_report_without_an_answer_lacks_its_table(verdicts: Mapping[Path, Verdict]) -> None:
    for path, verdict in verdicts.items():
        for report, reason in verdict.unanswered.items():
            assert "does not contain" in reason, (path, report, reason)


def odd_export(folder: Path) -> Path:
    """The differences that no bundled capture shows."""
    build = ExportBuilder(capture=CUDA_AND_NVTX)
    build.call(1_000, 2_000, "cudaLaunchKernel_v7000", correlationId=1).kernel(5_000, 6_000, "named", correlationId=1)
    build.call(2_000, 2_500, "cudaLaunchKernel_ptsz_v7000", correlationId=2)
    build.kernel(6_500, 7_000, "short", correlationId=2, demangledName=None)
    build.kernel(0, 0, "named", correlationId=3)
    build.range(500, 3_000, "aten::mul, seq = 45, op_id = 99").range(400, 3_100, "aten::mul, seq = 46, op_id = 100")
    build.range(900, 2_100, "ncclAllReduce", domainId=3)
    return build.write(folder / "odd.sqlite")


def test_the_other_documented_differences(nsys: str, tmp_path: Path, verdicts: Mapping[Path, Verdict]) -> None:
    verdict = compare(nsys, odd_export(tmp_path), tmp_path / "stats")
    assert verdict.unexplained == []
    assert verdict.known.keys() >= {"call-numbers", "unnamed-nccl", "no-timestamp", "no-name", "tool-domains"}
    seen = set(verdict.known).union(*(v.known for v in verdicts.values()))
    assert seen == set(DIFFERENCES), "a difference that never appears is not a difference any more"


@pytest.mark.parametrize(
    ("table", "column", "reports"),
    [
        (events.Kernels, "end_ns", {"cuda_gpu_kern_sum", "cuda_gpu_kern_gb_sum", "cuda_kern_exec_trace"}),
        (events.ApiCalls, "end_ns", {"cuda_api_sum"}),
        (events.Copies, "bytes", {"cuda_gpu_mem_size_sum"}),
        (events.Copies, "end_ns", {"cuda_gpu_mem_time_sum"}),
        (events.NvtxRanges, "end_ns", {"nvtx_sum", "nvtx_gpu_proj_trace"}),
    ],
)
def test_one_wrong_number_is_noticed(
    table: type[events.Span], column: str, reports: set[str], nsys: str, tmp_path: Path
) -> None:
    path = SAMPLES / "h200" / "py_gpt_train.sqlite"
    trace = open_trace(path, OpenOptions(use_cache=False))
    rows = trace.table(table)
    assert rows is not None
    columns = {name: rows.array(name).copy() for name in table.COLUMNS}
    columns[column][-1] += 1
    wrong = Timeline(replace(trace, tables={**trace.tables, table: table.of(**columns)}))
    complaints = judge(stats(nsys, path, tmp_path), wrong).unexplained
    assert {complaint.partition(":")[0] for complaint in complaints} >= reports


def test_an_empty_table_is_no_rows_and_a_failure_is_no_answer(nsys: str, tmp_path: Path) -> None:
    said = stats(nsys, SAMPLES / "alloc" / "pool.sqlite", tmp_path)
    assert said.rows["cuda_gpu_mem_time_sum"] == []
    assert re.match("does not contain", said.missing["osrt_sum"])
    broken = tmp_path / "nsys"
    broken.write_text('#!/bin/sh\necho "No module named nsysstats" >&2\nexit 0\n')
    broken.chmod(0o755)
    said = stats(str(broken), SAMPLES / "alloc" / "pool.sqlite", tmp_path / "broken")
    assert not said.rows
    assert "nsysstats" in said.missing["cuda_api_sum"]


def test_the_built_export_holds_what_it_claims(tmp_path: Path) -> None:
    odd_export(tmp_path)
    trace = open_trace(tmp_path / "odd.sqlite", OpenOptions(use_cache=False))
    kernels = trace.table(events.Kernels)
    assert kernels is not None
    assert len(kernels) == 2


def test_every_difference_is_documented(repository: Path) -> None:
    page = (repository / "docs" / "differential.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(DIFFERENCES)
