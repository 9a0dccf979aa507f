"""`stallscope diff`: what changed between two sets of runs, with a verdict."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stallscope.cli._rendering import PIPED_WIDTH, STDOUT, takes_colour, terminal_width, write_file
from stallscope.errors import InputError

if TYPE_CHECKING:
    from stallscope.experiments.diff import DiffOptions
    from stallscope.model.analysis import Analysis
    from stallscope.model.comparison import Comparison

FORMATS = ("text", "json", "md")
ALLOWANCES = ("gpu", "driver", "clocks", "trace", "workload")
GATE_FAILED = 1
INCONCLUSIVE = 5
RECORDED = "history:"
_HEAD = "--to"


class TwoSidedCommand(click.Command):
    """A command whose `--to` takes every path up to the next option, as a shell pattern writes them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each path after `--to` its own `--to`."""
        spread: list[str] = []
        on_head = False
        for argument in args:
            if argument == _HEAD:
                on_head = True
                continue
            if on_head and argument.startswith("-") and argument != "-":
                on_head = False
            spread += [_HEAD, argument] if on_head else [argument]
        return super().parse_args(ctx, spread)


@click.command("diff", cls=TwoSidedCommand)
@click.argument("base", nargs=-1, required=True, metavar="BASE...")
@click.option(_HEAD, "head", multiple=True, required=True, metavar="HEAD...", help="Runs of the changed program.")
@click.option("--format", "format_", type=click.Choice(FORMATS), help="Report to write (default: by -o, else text).")
@click.option("-o", "--output", default=STDOUT, metavar="FILE", help="Write to FILE instead of stdout.")
@click.option(
    "--allow", multiple=True, type=click.Choice(ALLOWANCES), help="Compare although this differs; it becomes a caveat."
)
@click.option(
    "--paired/--unpaired", default=None, help="The k-th runs belong together (captured in turn). Default: by the data."
)
@click.option("--tested", multiple=True, metavar="ID", help="Finding or wait id that the change was meant to remove.")
@click.option("--numerics", metavar="FILE", help="Result of `stallscope numerics --format json` for this change.")
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 when the step or any wait id regressed.")
@click.option("--strict", is_flag=True, help="Exit 5 when the runs do not decide or cannot be compared.")
@click.option("--nsys", metavar="PROGRAM", help="The nsys that exports .nsys-rep files.")
@click.option("--cache/--no-cache", default=None, help="Keep exports and columns for the next time (default: yes).")
def command(
    *,
    base: tuple[str, ...],
    head: tuple[str, ...],
    format_: str | None,
    output: str,
    **flags: Any,
) -> int:
    """Compare runs of a program before (BASE) and after (HEAD) a change, step by step and wait by wait.

    BASE and HEAD are traces, saved JSON reports or history:NAME, several repeats a side if you can:
    `stallscope diff base/*.json --to head/*.json`. Predictions of the base report are judged too.
    """
    from stallscope import __version__
    from stallscope.experiments.diff import compare
    from stallscope.model.analysis import Tool

    sides = [[_analysis(path, flags) for path in side] for side in (base, head)]
    comparison = compare(sides[0], sides[1], _options(flags), Tool(version=__version__))
    _write(comparison, format_, output)
    if flags["fail_on_regression"] and _regressed(comparison):
        return GATE_FAILED
    return INCONCLUSIVE if flags["strict"] and comparison.verdict in ("inconclusive", "not comparable") else 0


def _analysis(path: str, flags: Mapping[str, Any]) -> Analysis:
    from stallscope.cli._analysis import analyze, load_settings
    from stallscope.cli._documents import is_document, read_document

    if path.startswith(RECORDED):
        return _recorded(path.removeprefix(RECORDED))
    if is_document(path):
        return read_document(path)
    return analyze((path,), load_settings({"nsys": flags["nsys"], "cache": flags["cache"]}))


def _recorded(reference: str) -> Analysis:
    from stallscope.store.history import History
    from stallscope.store.location import history_file

    with History.open(history_file(os.environ)) as history:
        return history.find(reference)


def _options(flags: Mapping[str, Any]) -> DiffOptions:
    from stallscope.experiments.diff import DiffOptions

    return DiffOptions(
        allowed=frozenset(flags["allow"]),
        paired=flags["paired"],
        tested=frozenset(flags["tested"]),
        numerics_passed=_numerics(flags["numerics"]) if flags["numerics"] else None,
    )


def _numerics(path: str) -> bool:
    import msgspec

    from stallscope.numerics.report import NumericsReport

    try:
        return NumericsReport.from_json(Path(path).read_bytes()).passed
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        next_step = "write it with: stallscope numerics BASE HEAD --class … --format json -o FILE"
        raise InputError("not a report of the numerics gate", file=Path(path).name, next_step=next_step) from error


def _write(comparison: Comparison, format_: str | None, output: str) -> None:
    chosen = format_ or {".json": "json", ".md": "md"}.get(Path(output).suffix.lower(), "text")
    on_terminal = output == STDOUT
    if chosen == "json":
        text = comparison.to_json()
    elif chosen == "md":
        from stallscope.reporters.comparison_markdown import comparison_markdown

        text = comparison_markdown(comparison)
    else:
        from stallscope.reporters.comparison_text import comparison_text

        width = terminal_width() if on_terminal else PIPED_WIDTH
        text = comparison_text(comparison, width=width, colour=on_terminal and takes_colour())
    if on_terminal:
        sys.stdout.write(text)
    else:
        write_file(Path(output), text)


def _regressed(comparison: Comparison) -> bool:
    rows = [comparison.verdict, *(row.verdict for row in comparison.waits.values())]
    return "regressed" in rows
