"""The `stallscope` program: parse, run, and turn every failure into a message and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from stallscope import __version__
from stallscope.cli._failures import EXIT_INTERRUPTED, EXIT_PIPE_CLOSED, abandon_stdout, report
from stallscope.cli._folder import CommandFolder

PROGRAM = "stallscope"
RUNS_PROGRAMS = "run"
COMPLETION_VARIABLE = "_STALLSCOPE_COMPLETE"


@click.group(cls=CommandFolder, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message=f"{PROGRAM} %(version)s")
@click.option("--debug", is_flag=True, help="Show a traceback when something goes wrong.")
def root(*, debug: bool) -> None:
    """Tells why a GPU waits, what it would be worth not to wait, and what to try next."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (`docs/exit-codes.md`)."""
    arguments, debug = _take_debug(sys.argv[1:] if arguments is None else arguments)
    if COMPLETION_VARIABLE in os.environ:
        root.main(arguments, prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        return EXIT_PIPE_CLOSED
    except KeyboardInterrupt:
        click.echo(err=True)
        return EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the one place that turns failures into exit codes
        return report(error, debug=debug)
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":  # a panic of the data engine is no Exception
            raise
        return report(error, debug=debug)
    return code


def _run(arguments: list[str]) -> int:
    try:
        with root.make_context(PROGRAM, arguments) as context:
            code = root.invoke(context)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort as stop:
        raise KeyboardInterrupt from stop
    return code if isinstance(code, int) else 0


def _take_debug(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """`--debug` works before and after the command's name, but what belongs to a program that is run stays with it."""
    words = list(arguments)
    command = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    if words[command : command + 1] == [RUNS_PROGRAMS]:
        end = command
    else:
        end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != "--debug"]
    return kept + words[end:], len(kept) < end


if __name__ == "__main__":
    sys.exit(main())
