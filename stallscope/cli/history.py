"""`stallscope history`: analyses over time, baselines by name and commit, trends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.store.history import Entry, History

SHOWN_COMMIT = 10


@click.group("history")
def command() -> None:
    """Keep analyses, name baselines, see trends.

    The file is in your data folder (STALLSCOPE_HISTORY names another one). Compare with a recorded run:
    `stallscope diff history:NAME --to head.json`.
    """


@command.command("add")
@click.argument("report")
@click.option("--series", required=True, metavar="NAME", help="What this run is one of, like train-8gpu.")
@click.option("--commit", default="", metavar="SHA", help="The version of the program.")
@click.option("--baseline", metavar="NAME", help="Give it this name at once.")
def add(*, report: str, series: str, commit: str, baseline: str | None) -> None:
    """Record a saved REPORT.json ('-' is stdin)."""
    from stallscope.cli._documents import read_document

    analysis = read_document(report)
    with _history() as history:
        entry = history.add(analysis, series, commit)
        if baseline:
            history.set_baseline(baseline, entry)
    click.echo(f"recorded as {entry}")


@command.command("list")
@click.option("--series", metavar="NAME", help="Only this series.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Newest N.")
def list_(*, series: str | None, limit: int) -> None:
    """Show what is recorded, newest first."""
    with _history() as history:
        entries = history.entries(series, limit)
    if not entries:
        click.echo("nothing is recorded yet", err=True)
    for entry in entries:
        click.echo(_line(entry, entry.step_ns))


@command.command("trend")
@click.argument("series")
@click.argument("wait", default="step")
def trend(*, series: str, wait: str) -> None:
    """Show what WAIT (or the step) costs in every recorded run of SERIES, oldest first."""
    with _history() as history:
        points = history.trend(series, wait)
    if not points:
        raise UsageError(f"no series {series!r} in the history", next_step="stallscope history list")
    most = max(point.ns for point in points) or 1
    for point in points:
        click.echo(f"{_line(point.entry, point.ns)}  {'▇' * round(20 * point.ns / most)}")


@command.command("baseline")
@click.argument("name")
@click.argument("id", type=int)
def baseline(*, name: str, id: int) -> None:  # noqa: A002 - the command line's word
    """Give the analysis ID a NAME within its series."""
    with _history() as history:
        history.set_baseline(name, id)


@command.command("show")
@click.argument("reference")
@click.option("--series", metavar="NAME", help="Only this series.")
def show(*, reference: str, series: str | None) -> None:
    """Print the JSON report of a baseline name, a commit or an id."""
    with _history() as history:
        analysis = history.find(reference, series)
    sys.stdout.write(analysis.to_json())


@command.command("forget")
@click.argument("id", type=int)
def forget(*, id: int) -> None:  # noqa: A002 - the command line's word
    """Delete the analysis ID and its names."""
    with _history() as history:
        history.forget(id)


@contextmanager
def _history() -> Iterator[History]:
    from stallscope.store.history import History
    from stallscope.store.location import history_file

    with History.open(history_file(os.environ)) as history:
        yield history


def _line(entry: Entry, ns: int) -> str:
    from stallscope.model.units import duration
    from stallscope.reporters.escape import visible

    names = f" [{', '.join(entry.baselines)}]" if entry.baselines else ""
    commit = entry.commit[:SHOWN_COMMIT].ljust(SHOWN_COMMIT)
    text = f"{entry.id:>4}  {entry.recorded[:16]}  {commit}  {entry.series}  {duration(ns)} a step{names}"
    return visible(text)
