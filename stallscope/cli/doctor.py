"""`stallscope doctor`: what this machine can profile, or what a trace holds and lacks."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from stallscope.cli._rendering import takes_colour, terminal_width
from stallscope.reporters.terminal import Paper

if TYPE_CHECKING:
    from stallscope.capture.machine import Condition
    from stallscope.model.analysis import Analysis
    from stallscope.settings import Settings
    from stallscope.views.health import HealthRow

STYLES = {"ok": "green", "recorded": "green", "limited": "yellow", "unknown": "yellow", "missing": "red"}


@click.command("doctor")
@click.argument("trace", required=False)
@click.option("--nsys", metavar="PROGRAM", help="The nsys to look at instead of the one on PATH.")
@click.option("--ncu", metavar="PROGRAM", help="The ncu to look at instead of the one on PATH.")
def command(trace: str | None, **flags: Any) -> None:
    """Check this machine, or say what TRACE contains, what it lacks, and the profiler flag that would add it."""
    from stallscope.cli._analysis import load_settings

    paper = Paper(width=terminal_width(), colour=takes_colour())
    if trace is None:
        _examine_machine(paper, load_settings(flags))
    else:
        from stallscope.cli._analysis import analyze

        _examine_trace(paper, analyze((trace,), load_settings(flags)))
    click.echo(paper.text(), nl=False, color=paper.colour)


def _examine_machine(paper: Paper, chosen: Settings) -> None:
    from stallscope.capture.machine import conditions
    from stallscope.ingest.cache import cache_folder

    found = list(conditions(_nsys(chosen.nsys), chosen.ncu, cache_folder(chosen.cache_dir)))
    width = max(len(condition.subject) for condition in found)
    for condition in found:
        _write_condition(paper, condition, width)
    version = ".".join(map(str, sys.version_info[:3]))
    _write_state(paper, "ok", f"{'Python':<{width}}  {version}", "")


def _write_condition(paper: Paper, condition: Condition, width: int) -> None:
    _write_state(paper, condition.state, f"{condition.subject:<{width}}  {condition.detail}", condition.remedy)


def _nsys(configured: str | None) -> str | None:
    """The program that would export a report now: nsys is often installed and not on PATH."""
    from stallscope.errors import ToolMissingError
    from stallscope.ingest.nsys_export import find_nsys

    try:
        return find_nsys(configured).program
    except ToolMissingError:
        return configured


def _examine_trace(paper: Paper, analysis: Analysis) -> None:
    from stallscope.reporters.text_health import write_health
    from stallscope.views.headline import headline
    from stallscope.views.health import health

    for source in analysis.sources:
        paper.columns(source.name, f"{source.producer or source.format} {source.schema}".strip(), "bold")
    paper.prose(headline(analysis).sentence)
    rows = health(analysis)
    width = max((len(row.label) for row in rows), default=0)
    paper.heading("Recorded and missing")
    for row in sorted(rows, key=lambda row: row.state == "missing"):
        detail = row.detail or row.use
        text = f"{row.label:<{width}}  {row.state}{f': {detail}' if detail else ''}"
        _write_state(paper, row.state, text, row.flag and f"add {row.flag}")
    write_health(paper, analysis, everything=True)
    _write_command(paper, rows)


def _write_state(paper: Paper, state: str, text: str, remedy: str) -> None:
    paper.item("■" if state in ("ok", "recorded") else "□", STYLES[state], text)
    if remedy:
        paper.prose(f"→ {remedy}", indent="    ", hanging="      ")


def _write_command(paper: Paper, rows: Sequence[HealthRow]) -> None:
    """The shortest capture that has everything a light run can record."""
    if any(row.state == "missing" for row in rows):
        paper.heading("A fuller capture")
        paper.line("  stallscope run -- PROGRAM    picks the flags; --dry-run prints them")
