"""`stallscope analyze`: the main job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stallscope.cli._budgets import chosen_budgets
from stallscope.cli._rendering import (
    Rendering,
    RenderingCommand,
    TextOptions,
    is_drawn,
    rendering_options,
    renderings,
    shown_path,
    write_reports,
)
from stallscope.cli._scope import time_range
from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.gates import Budget, GateResult
    from stallscope.model.analysis import Analysis
    from stallscope.model.scope import Scope
    from stallscope.settings import Settings
    from stallscope.views.timeline_tiles import Tiles

INCONCLUSIVE = 5


@click.command("analyze", cls=RenderingCommand)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@rendering_options
@click.option("--nvtx", metavar="NAME", help="Only the time inside the NVTX ranges of this name.")
@click.option("--range", "range_ns", callback=time_range, metavar="A:B", help="Only this time, like 1.2s:1.5s.")
@click.option("--device", type=click.IntRange(0), metavar="N", help="Only this GPU, by its number in the trace.")
@click.option("--all", is_flag=True, default=None, help="Keep findings below 1 % and print every row.")
@click.option("--plan", type=click.IntRange(1), metavar="N", help="Spell out the next N experiments.")
@click.option("--fail-on", multiple=True, metavar="'WAIT>VALUE'", help="Exit 1 above a limit: 'alloc.sync>5%'.")
@click.option("--budgets", "budgets_file", metavar="FILE", help="Exit 1 when a budget of this TOML file is exceeded.")
@click.option("--strict", is_flag=True, default=None, help="Exit 5 when the trace cannot decide.")
@click.option("--nsys", metavar="PROGRAM", help="The nsys that exports .nsys-rep files.")
@click.option("--cache/--no-cache", default=None, help="Keep exports and columns for the next time (default: yes).")
@click.option("--scheduler", metavar="ADDRESS", help="Dask scheduler for many ranks, like tcp://host:8786.")
def command(*, paths: tuple[str, ...], formats: tuple[str, ...], outputs: tuple[str, ...], **flags: Any) -> int:
    """Account for every nanosecond of every GPU in a trace, and say what to try next.

    PATH is an Nsight Systems report (.nsys-rep, .sqlite, or a Parquet or Arrow export folder), an Nsight Compute report
    or CSV, or a PyTorch profiler trace. Several paths are the ranks of one run, or both tools' view of one program.
    """
    from stallscope.cli._process import reuse_freed_memory, seldom_collect, without_algebra_threads

    reuse_freed_memory()
    seldom_collect()
    without_algebra_threads()
    from stallscope.cli._analysis import load_settings
    from stallscope.model.scope import Scope

    wanted = renderings(formats, outputs)
    _keep_inputs(paths, wanted)
    chosen = load_settings(flags)
    budgets = chosen_budgets(chosen, flags["budgets_file"])
    scope = Scope(nvtx=chosen.nvtx, range_ns=flags["range_ns"], device=flags["device"])
    analysis, tiles = _analyze(paths, chosen, scope, drawn=any(map(is_drawn, wanted)))
    gates = _judged(analysis, budgets)
    write_reports(
        analysis, wanted, TextOptions(chosen.all, chosen.plan or 0, tuple(map(shown_path, paths))), gates, tiles
    )
    if all(rendering.format not in (None, "text") for rendering in wanted):
        _warn(gates)
    return _gate_code(gates, chosen) or (INCONCLUSIVE if chosen.strict and _undecided(analysis) else 0)


def _analyze(paths: Sequence[str], chosen: Settings, scope: Scope, *, drawn: bool) -> tuple[Analysis, Tiles | None]:
    from stallscope.cli._analysis import analyze, examine, only_trace

    file = only_trace(paths) if drawn else None
    if file is None:
        return analyze(paths, chosen, scope), None
    from stallscope.views.report_timeline import tiles_of

    examination = examine(file, chosen, scope)
    return examination.analysis, tiles_of(examination.timeline, examination.charges, examination.analysis)


def _judged(analysis: Analysis, budgets: Sequence[Budget]) -> tuple[GateResult, ...]:
    if not budgets:
        return ()
    from stallscope.gates import evaluate

    return evaluate(analysis, budgets)


def _gate_code(gates: Sequence[GateResult], chosen: Settings) -> int:
    if not gates:
        return 0
    from stallscope.gates import exit_code

    return exit_code(gates, strict=chosen.strict)


def _warn(gates: Sequence[GateResult]) -> None:
    for gate in gates:
        if gate.state != "pass":
            click.echo(f"budget {gate.state}: {gate.budget.name}: {gate.reason}", err=True)


def _undecided(analysis: Analysis) -> bool:
    from stallscope.views.headline import Verdict, headline

    return headline(analysis).verdict in (Verdict.REFUSED, Verdict.INCOMPLETE, Verdict.NO_ACTIVITY)


def _keep_inputs(paths: Sequence[str], wanted: Sequence[Rendering]) -> None:
    """A report never replaces a trace that was given as input."""
    inputs = {Path(path).resolve() for path in paths}
    for rendering in wanted:
        if Path(rendering.file).resolve() in inputs:
            raise UsageError(
                "-o would replace the trace", file=rendering.file, next_step="give the report another name"
            )
