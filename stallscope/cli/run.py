"""`stallscope run`: profile a program with the flags its waits need, then analyze."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stallscope.errors import ToolMissingError, UsageError

if TYPE_CHECKING:
    from stallscope.capture.command import Job, Profiler, Wish
    from stallscope.model.columns import Table
    from stallscope.settings import Settings

DEFAULT_OUTPUT = "stallscope.nsys-rep"
PRIVATE = "environment, arguments and output stay out of the report (--keep-environment records them)"
EXPOSED = (
    "nsys records the environment of your other processes too, and this system does not allow hiding them: keep the "
    "report to yourself, and share a scrubbed export"
)


@click.command("run", context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
@click.option("-o", "--output", default=DEFAULT_OUTPUT, metavar="FILE", show_default=True, help="Name of the report.")
@click.option("--for", "waits", multiple=True, metavar="WAIT", help="Record what this wait needs, like 'uvm.*'.")
@click.option("--capture-range", metavar="RANGE", help="Only nvtx:NAME, or cuda (cudaProfilerStart to Stop).")
@click.option("--repeat", type=click.IntRange(1), default=1, metavar="N", help="Record N runs, or N capture ranges.")
@click.option("--graph-nodes", is_flag=True, help="Trace the nodes inside CUDA graphs (slows replays).")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Measure these kernels with ncu (a regex).")
@click.option("--report", "reports", multiple=True, metavar="FILE", help="Also write the analysis, like report.html.")
@click.option("--dry-run", is_flag=True, help="Print the commands and do nothing.")
@click.option("--no-analyze", is_flag=True, help="Stop when the reports are recorded.")
@click.option("--force", is_flag=True, help="Replace reports of the same name.")
@click.option("--keep-environment", is_flag=True, help="Let nsys record environment, arguments and output.")
@click.option("--nsys", metavar="PROGRAM", help="The nsys to use.")
@click.option("--ncu", metavar="PROGRAM", help="The ncu to use.")
def command(*, program: tuple[str, ...], **flags: Any) -> int:
    """Profile CMD under Nsight Systems with the flags that the wanted waits need, then analyze it.

    The first run is light, so that its times can be trusted. What slows a program (allocation and page-fault tracing)
    goes into a run of its own. The exit code is the program's.
    """
    from stallscope.capture.command import jobs
    from stallscope.cli._analysis import load_settings

    chosen = load_settings({"nsys": flags["nsys"], "ncu": flags["ncu"]})
    wish = _wish(program, flags)
    profiler = _dry_profiler(chosen) if flags["dry_run"] else _profiler(chosen)
    planned = jobs(wish, profiler, chosen.ncu or "ncu")
    if flags["dry_run"]:
        for job in planned:
            click.echo(job.shown)
        return 0
    code, recorded = _record(planned, keep_environment=flags["keep_environment"])
    if code == 0 and not flags["no_analyze"]:
        _analyze(recorded, chosen, flags["reports"])
    return code


def _wish(program: tuple[str, ...], flags: dict[str, Any]) -> Wish:
    from stallscope.capture.command import CaptureRange, Wish

    output = Path(flags["output"])
    if output.suffix not in {"", ".nsys-rep"}:
        raise UsageError("-o names the report of nsys", file=output.name, next_step="end it in .nsys-rep")
    if not output.parent.is_dir():
        raise UsageError("no such folder", file=str(output.parent), next_step="create it first")
    asked = flags["capture_range"]
    return Wish(
        program=program,
        output=output,
        tables=_tables(flags["waits"]),
        capture_range=CaptureRange.parse(asked) if asked else None,
        repeat=flags["repeat"],
        graph_nodes=flags["graph_nodes"],
        kernels=flags["kernels"],
        overwrite=flags["force"],
    )


def _tables(waits: Sequence[str]) -> frozenset[type[Table]]:
    """Event tables that the rules of these waits look at."""
    if not waits:
        return frozenset()
    from stallscope.waits.catalogue import all_rules

    found: set[type[Table]] = set()
    for pattern in waits:
        rules = [rule for rule in all_rules() if fnmatchcase(rule.meta.id, pattern)]
        if not rules:
            raise UsageError(f"no wait is called {pattern!r}", next_step="`stallscope rules` lists them")
        for rule in rules:
            found.update(rule.meta.needs, rule.meta.uses)
    return frozenset(found)


def _profiler(chosen: Settings) -> Profiler:
    import subprocess

    from stallscope.capture.command import Profiler
    from stallscope.ingest.nsys_export import find_nsys

    nsys = find_nsys(chosen.nsys)
    asked = [nsys.program, "profile", "--help"]
    said = subprocess.run(asked, capture_output=True, text=True, errors="replace", check=False)  # noqa: S603
    offered = said.stdout + said.stderr
    return Profiler(nsys.program, nsys.version, lambda option: option in offered)


def _dry_profiler(chosen: Settings) -> Profiler:
    """A dry run works without nsys; it then assumes a recent one."""
    from stallscope.capture.command import Profiler

    try:
        return _profiler(chosen)
    except ToolMissingError:
        click.echo("nsys is not installed here: these are the commands for a recent one", err=True)
        return Profiler(chosen.nsys or "nsys")


def _record(planned: Sequence[Job], *, keep_environment: bool) -> tuple[int, list[Path]]:
    """Run the jobs in order; stops at the first program that fails. Answers its exit code and the nsys reports."""
    from stallscope.capture.private_start import available, isolation
    from stallscope.capture.profile import run_job

    recorded: list[Path] = []
    for number, job in enumerate(planned):
        click.echo(f"[{number + 1}/{len(planned)}] {job.title}: {job.shown}", err=True)
        if job.warning:
            click.echo(f"  note: {job.warning}", err=True)
        if number == 0 and not keep_environment:
            hidden = available() and isolation(os.environ)
            click.echo(f"  note: {PRIVATE if hidden else EXPOSED}", err=True)
        done = run_job(job, keep_environment=keep_environment)
        for report in done.reports:
            click.echo(f"recorded {report}", err=True)
        recorded += [report for report in done.reports if report.suffix == ".nsys-rep"]
        if done.code:
            click.echo(f"the program ended with code {done.code}; nothing is analyzed", err=True)
            return done.code, recorded
    return 0, recorded


def _analyze(recorded: Sequence[Path], chosen: Settings, reports: Sequence[str]) -> None:
    """The terminal report of the first run, the files asked for, and what to do with the others."""
    from stallscope.cli._analysis import examine
    from stallscope.cli._rendering import Rendering, TextOptions, is_drawn, write_reports
    from stallscope.views.report_timeline import tiles_of

    if not recorded:
        return
    first = recorded[0]
    wanted = (Rendering("text"), *(Rendering(None, file) for file in reports))
    examination = examine(str(first), chosen)
    drawn = any(map(is_drawn, wanted))
    tiles = tiles_of(examination.timeline, examination.charges, examination.analysis) if drawn else None
    write_reports(examination.analysis, wanted, TextOptions(chosen.all, chosen.plan or 0, (str(first),)), (), tiles)
    for other in recorded[1:]:
        click.echo(f"also recorded: {other} (stallscope analyze {shlex.quote(str(other))})", err=True)
