"""Failures as users see them: what happened, which file, what to do next; and the exit code."""

from __future__ import annotations

import os
import platform
import sys
import traceback
from pathlib import Path

import click

from stallscope import __version__
from stallscope.errors import InputError, StallscopeError
from stallscope.reporters.escape import visible

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_PIPE_CLOSED = 141


def report(error: BaseException, *, debug: bool) -> int:
    """Print the failure to stderr; returns its exit code."""
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, click.UsageError):
        _show_usage(error)
        return error.exit_code
    expected = _expected(error)
    if expected is None:
        _show_bug(error)
        return EXIT_INTERNAL
    show(expected)
    return expected.exit_code


def show(error: StallscopeError) -> None:
    """The three parts of an expected failure, one a line."""
    lines = [f"stallscope: {visible(error.what)}"]
    lines += [f"  file: {visible(error.file)}"] if error.file else []
    lines += [f"  next: {visible(line)}" for line in (error.next_step or "").splitlines()]
    click.echo("\n".join(lines), err=True)


def abandon_stdout() -> None:
    """The reader of our output has gone; point stdout at nothing so that the final flush stays quiet."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
    os.close(sink)


def _expected(error: BaseException) -> StallscopeError | None:
    if isinstance(error, StallscopeError):
        return error
    if isinstance(error, click.ClickException):
        return InputError(error.format_message())
    if isinstance(error, OSError) and error.strerror:
        name = Path(os.fsdecode(error.filename)).name if error.filename else None
        return InputError(error.strerror.lower(), file=name, next_step="check the path, its permissions and the disk")
    return None


def _show_usage(error: click.UsageError) -> None:
    command = error.ctx.command_path if error.ctx else "stallscope"
    click.echo(f"stallscope: {visible(error.format_message())}\n  next: see `{command} --help`", err=True)


def _show_bug(error: BaseException) -> None:
    """Names the line of code, not the message: messages may quote a trace, and this text ends up in public reports."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {_code_path(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    system = f"Python {platform.python_version()}, {platform.system()}"
    click.echo(
        f"stallscope: internal error: {type(error).__name__}{place}\n"
        f"  this is a bug in stallscope {__version__} ({system}), not in your trace\n"
        "  next: run the command again with --debug and report the traceback",
        err=True,
    )


def _code_path(filename: str) -> str:
    parts = Path(filename).parts
    return "/".join(parts[parts.index("stallscope") :]) if "stallscope" in parts else Path(filename).name
