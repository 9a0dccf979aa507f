"""`nsys stats` as a second opinion: reports of a trace as rows, and why a report has none."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPORTS = (
    "cuda_gpu_kern_sum",
    "cuda_gpu_kern_gb_sum",
    "cuda_gpu_mem_time_sum",
    "cuda_gpu_mem_size_sum",
    "cuda_gpu_trace",
    "cuda_api_sum",
    "cuda_kern_exec_trace",
    "nvtx_sum",
    "nvtx_gpu_proj_sum",
    "nvtx_gpu_proj_trace",
    "osrt_sum",
)
"""Reports that state numbers which stallscope states too."""

Row = Mapping[str, str]


@dataclass(frozen=True)
class Answers:
    """What `nsys stats` said: the rows of each report that ran, and nsys's words for those that did not."""

    rows: Mapping[str, Sequence[Row]]
    missing: Mapping[str, str]


def stats(nsys: str, trace: Path, folder: Path) -> Answers:
    """Run all reports over a copy of the trace: nsys writes beside its input.

    nsys exits 0 and leaves an empty file when a report fails, so an empty file means no answer, never no rows.
    """
    folder.mkdir(exist_ok=True)
    copy = folder / f"trace{trace.suffix}"
    shutil.copyfile(trace, copy)
    wanted = [part for report in REPORTS for part in ("--report", report)]
    done = subprocess.run(
        [nsys, "stats", *wanted, "--format", "csv:mem=B", "--output", str(folder / "out"), copy],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        timeout=300,
    )
    rows, missing = {}, {}
    for report in REPORTS:
        reason = _reason(done.stdout, done.stderr, report)
        if reason:
            missing[report] = reason
            continue
        with (folder / f"out_{report}.csv").open(newline="", encoding="utf-8") as file:
            rows[report] = list(csv.DictReader(file))
    return Answers(rows, missing)


def _reason(said: str, complained: str, report: str) -> str:
    """Why a report has no answer; the empty text where it has one.

    After a report with rows nsys prints PROCESSED, after one whose tables are empty nothing, after a failed one nothing
    either, with a complaint elsewhere that does not name the report.
    """
    line = next((line for line in said.splitlines() if f"{report}.py" in line), "")
    if "SKIPPED: " in line:
        return line.split("SKIPPED: ")[1].split(" ", 1)[1].strip()
    if line.endswith("PROCESSED"):
        return ""
    return complained.strip() if complained.strip() else "" if line else "no word about it"
