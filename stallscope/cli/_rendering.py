"""`--format` and `-o`: which report goes where, in the order the user wrote them."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stallscope.errors import UsageError

if TYPE_CHECKING:
    from stallscope.gates import GateResult
    from stallscope.model.analysis import Analysis
    from stallscope.reporters.base import Reporter
    from stallscope.views.timeline_tiles import Tiles

STDOUT = "-"
PIPED_WIDTH = 80
_ORDER = "stallscope.rendering_order"


@dataclass(frozen=True, slots=True)
class Rendering:
    """One report to write; `format` None means that the file's suffix decides."""

    format: str | None
    file: str = STDOUT


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What only the terminal report knows; `paths` are the inputs as `shown_path` shows them."""

    everything: bool = False
    plan: int = 0
    paths: tuple[str, ...] = ()


class RenderingCommand(click.Command):
    """A command with `--format` and `-o` that remembers the order in which they were given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse twice: the first time only for the order, which click does not keep."""
        *_, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [parameter.name for parameter in order if parameter.name in ("formats", "outputs")]
        return super().parse_args(ctx, args)


def rendering_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options `--format FORMAT` and `-o FILE`, each repeatable."""
    from stallscope.reporters.formats import format_names

    names = "|".join(format_names())
    command = click.option(
        "-o", "--output", "outputs", multiple=True, metavar="FILE",
        help="Write the report of the preceding --format to FILE ('-' is stdout). Without one, the suffix decides.",
    )(command)  # fmt: skip
    return click.option("--format", "formats", multiple=True, metavar="FORMAT", help=f"Report to write: {names}.")(
        command
    )


def renderings(formats: Sequence[str], outputs: Sequence[str]) -> tuple[Rendering, ...]:
    """The reports in the order of the command line; the terminal report when none was asked for.

    Raises `UsageError` for an unknown format and when two reports would go to the same place.
    """
    next_format, next_output = iter(formats), iter(outputs)
    found: list[Rendering] = []
    open_format = False
    for given in click.get_current_context().meta.get(_ORDER, ()):
        if given == "formats":
            found.append(Rendering(next(next_format)))
        elif open_format:
            found[-1] = replace(found[-1], file=next(next_output))
        else:
            found.append(Rendering(None, next(next_output)))
        open_format = given == "formats"
    _check(found)
    return tuple(found) or (Rendering("text"),)


def shown_path(path: str) -> str:
    """A path for reports, which travel: relative to the working folder that holds it, else without its folders."""
    given = Path(path)
    if not given.is_absolute():
        return path
    return str(given.relative_to(Path.cwd())) if given.is_relative_to(Path.cwd()) else given.name


def is_drawn(rendering: Rendering) -> bool:
    """Whether the report can draw the timeline, which costs keeping it."""
    return _format(rendering) == "html"


def write_reports(
    analysis: Analysis,
    wanted: Sequence[Rendering],
    text: TextOptions,
    gates: Sequence[GateResult] = (),
    tiles: Tiles | None = None,
) -> None:
    """Write every report; files appear complete or not at all. `tiles` is the timeline for reports that draw it."""
    for rendering in wanted:
        reporter = _drawing_reporter(gates, tiles) if is_drawn(rendering) else _reporter(rendering, text, gates)
        if rendering.file == STDOUT:
            reporter.render(analysis, sys.stdout)
        else:
            out = io.StringIO()
            reporter.render(analysis, out)
            write_file(Path(rendering.file), out.getvalue())
            click.echo(f"wrote {rendering.file}", err=True)


def write_file(file: Path, text: str) -> None:
    """Replace the file in one step. Raises `UsageError` when its folder does not take files."""
    import tempfile

    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as out:
                out.write(text)
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(file)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(
            f"cannot write the report: {(error.strerror or str(error)).lower()}",
            file=str(file),
            next_step="give -o a file in a folder that exists and that you may write to",
        ) from error


def _check(found: Sequence[Rendering]) -> None:
    from stallscope.reporters.formats import format_names

    for rendering in found:
        if rendering.format is not None and rendering.format not in format_names():
            raise UsageError(f"no format {rendering.format!r}", next_step=f"use one of: {', '.join(format_names())}")
    places = [rendering.file for rendering in found]
    twice = next((place for place in places if places.count(place) > 1), None)
    if twice is not None:
        place = "stdout" if twice == STDOUT else twice
        raise UsageError(f"two reports would go to {place}", next_step="give each --format its own -o FILE")


def _format(rendering: Rendering) -> str:
    from stallscope.reporters.formats import format_of_file

    return rendering.format or format_of_file(rendering.file)


def _drawing_reporter(gates: Sequence[GateResult], tiles: Tiles | None) -> Reporter:
    from stallscope.reporters.html import HtmlReporter

    return HtmlReporter(gates, tiles=tiles)


def _reporter(rendering: Rendering, text: TextOptions, gates: Sequence[GateResult]) -> Reporter:
    name = _format(rendering)
    if name != "text":
        from stallscope.reporters.base import reporter

        return reporter(name, gates)
    from stallscope.reporters.text import TextReporter

    terminal = rendering.file == STDOUT
    return TextReporter(
        width=terminal_width() if terminal else PIPED_WIDTH,
        colour=terminal and takes_colour(),
        everything=text.everything,
        plan=text.plan,
        paths=text.paths,
        gates=tuple(gates),
    )


def terminal_width() -> int:
    """Columns of the terminal on stdout; 80 when it is none."""
    return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if sys.stdout.isatty() else PIPED_WIDTH


def takes_colour() -> bool:
    """Whether stdout shows colours; NO_COLOR and FORCE_COLOR decide against and for it."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
