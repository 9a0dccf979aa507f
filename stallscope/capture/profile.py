"""Runs profiler commands: passes the program's exit code on and makes sure that a report is there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stallscope.capture.command import Job
from stallscope.capture.private_start import PrivateStart, available, private_start
from stallscope.errors import ToolMissingError

IMPORTER = "QdstrmImporter"
_ATTEMPTS = 2
_HOST_FOLDERS = ("host-linux-x64", "host-linux-armv8", "lib/nsight-systems/host-linux-x64")
_HOST_PACKAGE = (
    "install the full Nsight Systems package (its host part turns .qdstrm into .nsys-rep), or import the .qdstrm with "
    "its QdstrmImporter on another machine"
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one command left: the program's exit code and the reports that exist."""

    code: int
    reports: tuple[Path, ...]


def run_job(job: Job, *, keep_environment: bool = False) -> Recorded:
    """Run one command to its end.

    Raises `ToolMissingError` when the profiler cannot be started, did not start the program, or left no report of a
    program that succeeded.
    """
    profiler = _found(job.command[0])
    for report in job.reports:  # the plan allowed it; a left-over must not pass for the new report
        report.unlink(missing_ok=True)
        report.with_suffix(".qdstrm").unlink(missing_ok=True)
    if keep_environment or job.profiler == "ncu" or not available():
        code = _call([profiler, *job.command[1:], *job.program])
    else:
        code = _call_privately(profiler, job)
    reports = tuple(report for report in job.reports if _present(report, job.command[0]))
    if not reports and code == 0:
        raise ToolMissingError(
            f"{Path(job.command[0]).name} left no report",
            next_step="read its message above; with --capture-range, check that the program reaches the range",
        )
    return Recorded(code, reports)


def _call_privately(profiler: str, job: Job) -> int:
    """Exit code of the program. What the profiler left of an earlier run can stop it once; then nothing was started."""
    for _ in range(_ATTEMPTS):
        with private_start(job.program, os.environ, job.output.parent) as start:
            options = job.with_output(start.reports / job.output.name).command[1:]
            code = _call([*start.prefix, profiler, *options, *start.program], start)
            if start.started:
                return code
    raise ToolMissingError(
        f"{Path(profiler).name} ended with code {code} before it started the program",
        next_step="read its message above; --keep-environment starts the program without our script",
    )


def _found(profiler: str) -> str:
    path = shutil.which(profiler)
    if path is None:
        raise ToolMissingError(
            f"{Path(profiler).name} is not installed", next_step="install it, or name it with --nsys or --ncu"
        )
    return str(Path(path).absolute())


def _call(command: Sequence[str], start: PrivateStart | None = None) -> int:
    """Exit code of a command whose streams are ours; a signal becomes 128 + its number, as in a shell."""
    try:
        process = subprocess.Popen(command, **(_private_options(start) if start else {}))  # noqa: S603 - the user's own
    except OSError as error:
        raise ToolMissingError(f"{Path(command[0]).name} does not start: {error.strerror}") from error
    while True:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            continue  # the profiler got the signal too and finishes its report
        return code if code >= 0 else 128 - code


def _private_options(start: PrivateStart) -> dict[str, Any]:
    """The program writes to our streams itself, so what the profiler says need not mix with results on stdout."""
    said = {} if start.mixes_output else {"stdout": sys.stderr.fileno()}
    return {"env": start.environment, "cwd": start.folder, "pass_fds": start.descriptors, **said}


def _present(report: Path, profiler: str) -> bool:
    """Whether the report is there, imported from the raw stream that an nsys without its host part leaves."""
    raw = report.with_suffix(".qdstrm")
    if not report.is_file() and raw.is_file():
        _import(raw, report, profiler)
    return report.is_file()


def _import(raw: Path, report: Path, profiler: str) -> None:
    importer = next(_importers(profiler), None)
    if importer is None:
        raise ToolMissingError("nsys left a raw .qdstrm and cannot import it", file=raw.name, next_step=_HOST_PACKAGE)
    ran = subprocess.run(  # noqa: S603 - a program that belongs to the user's nsys
        [importer, "-i", raw.name, "-o", report.name],
        cwd=report.parent,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if ran.returncode or not report.is_file():
        words = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
        said = f": {words[-1][:200]}" if words else ""
        raise ToolMissingError(f"{IMPORTER} failed{said}", file=raw.name, next_step=_HOST_PACKAGE)
    raw.unlink()


def _importers(profiler: str) -> Iterator[str]:
    """The importer near an nsys: beside its folder, or where Debian's packages put it."""
    found = shutil.which(profiler)
    for parent in Path(found).resolve().parents if found else ():
        for folder in _HOST_FOLDERS:
            candidate = parent / folder / IMPORTER
            if os.access(candidate, os.X_OK):
                yield str(candidate)
