"""Which commands answer which question."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallscope.capture.command import EXTRAS, CaptureRange, Job, Profiler, Wish, jobs
from stallscope.errors import UsageError
from stallscope.model import events
from stallscope.model.collection import FLAGS

PROGRAM = ("python", "train.py", "--lr", "3 4")
NEW = Profiler("nsys", (2026, 1, 1))


def plan(folder: Path, nsys: Profiler = NEW, **wish: object) -> tuple[Job, ...]:
    return jobs(Wish(program=PROGRAM, output=folder / "base.nsys-rep", **wish), nsys)  # type: ignore[arg-type]


def options(job: Job) -> set[str]:
    return set(job.command[2:])


def test_light_run_records_what_times_need_and_nothing_that_slows(tmp_path: Path) -> None:
    (job,) = plan(tmp_path)
    assert job.command[:2] == ("nsys", "profile")
    assert options(job) == {"--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", f"--output={tmp_path / 'base'}"}
    assert job.program == PROGRAM
    assert job.reports == (tmp_path / "base.nsys-rep",)
    assert job.warning == ""
    assert job.shown.endswith("python train.py --lr '3 4'")


def test_old_nsys_traces_graph_nodes_because_its_exports_lose_graphs(tmp_path: Path) -> None:
    (job,) = plan(tmp_path, Profiler("nsys", (2023, 4, 4)))
    assert "--cuda-graph-trace=node" in options(job)
    assert "CUDA graphs" in job.warning
    assert "--cuda-graph-trace=node" in options(plan(tmp_path, graph_nodes=True)[0])


@pytest.mark.parametrize(
    ("table", "key", "option"),
    [
        (events.MemoryEvents, "memory", "--cuda-memory-usage=true"),
        (events.GpuFaults, "uvm", "--cuda-um-gpu-page-faults=true"),
        (events.CpuFaults, "uvm", "--cuda-um-cpu-page-faults=true"),
        (events.EventRecords, "events", "--cuda-event-trace=true"),
    ],
)
def test_what_slows_the_program_gets_a_run_of_its_own(tmp_path: Path, table: type, key: str, option: str) -> None:
    light, extra = plan(tmp_path, tables=frozenset({events.Kernels, table}))
    assert option not in options(light)
    assert option in options(extra)
    assert extra.reports == (tmp_path / f"base-{key}.nsys-rep",)
    assert "take times from the first run" in extra.warning


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        (events.OsCalls, "--trace=cuda,nvtx,osrt"),
        (events.OsCalls, "--osrt-threshold=10000"),
        (events.GilSpans, "--trace=cuda,nvtx,python-gil"),
        (events.SchedSpans, "--cpuctxsw=process-tree"),
        (events.ContextSwitches, "--gpuctxsw=true"),
        (events.GpuMetrics, "--gpu-metrics-devices=all"),
    ],
)
def test_light_tables_add_their_flag_to_the_light_run(tmp_path: Path, table: type, wanted: str) -> None:
    (job,) = plan(tmp_path, tables=frozenset({table}))
    assert wanted in options(job)


def test_options_are_those_that_reports_advise() -> None:
    """What a report tells to collect, `run` collects with the same flag."""
    for extra in EXTRAS:
        for table in extra.tables:
            assert any(option in FLAGS[table] for option in extra.options), table


def test_older_spelling_and_absent_values_follow_the_help_of_nsys(tmp_path: Path) -> None:
    old = Profiler("nsys", (2025, 1), lambda option: option not in {"--gpu-metrics-devices", "python-gil"})
    (job,) = plan(tmp_path, old, tables=frozenset({events.GpuMetrics, events.GilSpans}))
    assert {"--gpu-metrics-device=all", "--trace=cuda,nvtx"} <= options(job)
    with pytest.raises(UsageError, match="--cuda-event-trace"):
        plan(tmp_path, Profiler("nsys", (2023, 4), lambda option: "event-trace" not in option),
             tables=frozenset({events.EventRecords}))  # fmt: skip


def test_repeats_are_runs_or_ranges(tmp_path: Path) -> None:
    runs = plan(tmp_path, repeat=3)
    assert [job.reports[0].name for job in runs] == ["base-1.nsys-rep", "base-2.nsys-rep", "base-3.nsys-rep"]
    (job,) = plan(tmp_path, repeat=2, capture_range=CaptureRange.parse("cuda"))
    assert {"--capture-range=cudaProfilerApi", "--capture-range-end=repeat:2"} <= options(job)
    assert [report.name for report in job.reports] == ["base.1.nsys-rep", "base.2.nsys-rep"]


def test_nvtx_range_is_matched_in_any_domain_and_leaves_the_program_running(tmp_path: Path) -> None:
    (job,) = plan(tmp_path, capture_range=CaptureRange.parse("nvtx:a@b"))
    assert {
        "--capture-range=nvtx",
        "--nvtx-capture=a\\@b@*",
        "--capture-range-end=stop",
        "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0",
    } <= options(job)


@pytest.mark.parametrize("text", ["", "nvtx", "nvtx:", "cuda:x", "step"])
def test_capture_range_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        CaptureRange.parse(text)


def test_kernels_are_measured_by_ncu_after_the_times(tmp_path: Path) -> None:
    *_, last = plan(tmp_path, kernels=("gemm", "norm"))
    assert last.profiler == "ncu"
    assert {"--set=full", "--kernel-name=regex:gemm|norm", "--launch-count=6", "--clock-control=none"} <= {
        *last.command
    }
    assert last.reports == (tmp_path / "base-kernels.ncu-rep",)


def test_existing_report_is_kept_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "base.nsys-rep").touch()
    with pytest.raises(UsageError, match="exists already"):
        plan(tmp_path)
    assert "--force-overwrite=true" in options(plan(tmp_path, overwrite=True)[0])
