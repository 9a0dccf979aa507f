"""`stallscope doctor`: what this machine can profile, or what a trace holds and lacks."""

from __future__ import annotations

import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from stallscope.cli._rendering import shown_path, takes_colour, terminal_width
from stallscope.reporters.terminal import Paper

if TYPE_CHECKING:
    from stallscope.api import Examination
    from stallscope.capture.doctor import TableRecord
    from stallscope.capture.machine import Condition
    from stallscope.settings import Settings

GOOD = ("ok", "recorded", "empty")
STYLES = {"limited": "yellow", "unknown": "yellow", "missing": "red"} | dict.fromkeys(GOOD, "green")
SECTIONS = {"Recorded": ("recorded", "empty"), "Missing": ("missing",), "Not told by the file": ("unknown",)}
ABBREVIATIONS = {"Api": "API", "Cpu": "CPU", "Gil": "GIL", "Gpu": "GPU", "Nvtx": "NVTX", "Os": "OS"}


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
        from stallscope.cli._analysis import examine

        _examine_trace(paper, trace, examine(trace, load_settings(flags)))
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


def _examine_trace(paper: Paper, path: str, examination: Examination) -> None:
    from stallscope.capture.doctor import examine_trace
    from stallscope.reporters.text_health import write_health
    from stallscope.views.headline import headline

    analysis = examination.analysis
    for source in analysis.sources:
        paper.columns(source.name, f"{source.producer or source.format} {source.schema}".strip(), "bold")
    paper.prose(headline(analysis).sentence)
    records = examine_trace(examination.timeline.trace)
    width = max(len(_label(record)) for record in records)
    for title, states in SECTIONS.items():
        rows = [record for record in records if record.state in states]
        if rows:
            paper.heading(title)
        for record in rows:
            _write_state(paper, record.state, f"{_label(record):<{width}}  {_seen(record)}", record.remedy)
    write_health(paper, analysis, everything=True)
    paper.heading("Next")
    if any(record.remedy for record in records):
        paper.line("  stallscope run -- PROGRAM    captures with the flags that the rules need")
    paper.command(f"stallscope analyze {shlex.quote(shown_path(path))}", indent="  ")


def _label(record: TableRecord) -> str:
    """`CpuFaults` reads `CPU faults`: the words of the class, with the field's abbreviations."""
    words = re.findall(r"[A-Z][a-z]*", record.kind.__name__)
    return " ".join(ABBREVIATIONS.get(word, word if at == 0 else word.lower()) for at, word in enumerate(words))


def _seen(record: TableRecord) -> str:
    if record.state == "empty":
        return f"nothing happened ({record.source})"
    return f"{record.rows:,} rows ({record.source})" if record.rows else record.source


def _write_state(paper: Paper, state: str, text: str, remedy: str) -> None:
    paper.item("■" if state in GOOD else "□", STYLES[state], text)
    if remedy:
        paper.prose(f"→ {remedy}", indent="    ", hanging="      ")
