"""The program as a shell sees it: exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from stallscope.cli import main as program
from stallscope.errors import InconclusiveError, InputError, StallscopeError, ToolMissingError, UsageError

Outcome = tuple[int, str, str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def invoke(*arguments: str) -> Outcome:
        code = program.main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def raising(error: BaseException) -> click.Command:
    def callback() -> None:
        raise error

    return click.Command("boom", callback=callback)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, run: Callable[..., Outcome]) -> Callable[..., Outcome]:
    def invoke(error: BaseException, *flags: str) -> Outcome:
        monkeypatch.setattr(program.root, "get_command", lambda _ctx, _name: raising(error))
        return run("schema", *flags)

    return invoke


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("x"), 2),
        (InputError("x"), 3),
        (ToolMissingError("x"), 4),
        (InconclusiveError("x"), 5),
        (StallscopeError("x"), 70),
        (OSError(13, "Permission denied", "/home/somebody/t.sqlite"), 3),
        (ValueError("x"), 70),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
    ],
)
def test_every_failure_has_its_exit_code(
    failing: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    monkeypatch.setattr(program, "abandon_stdout", lambda: None)
    found, out, err = failing(error)
    assert found == code
    assert not out
    assert "Traceback" not in err


def test_expected_failures_say_what_which_file_and_what_next(failing: Callable[..., Outcome]) -> None:
    error = InputError("the file is empty", file="t.sqlite", next_step="export it again")
    assert failing(error)[2] == "stallscope: the file is empty\n  file: t.sqlite\n  next: export it again\n"


def test_names_of_a_trace_cannot_act_on_the_terminal_through_an_error(failing: Callable[..., Outcome]) -> None:
    assert "\x1b" not in failing(InputError("no table \x1b[2Jevil\u202e"))[2]


def test_folders_of_the_user_stay_out_of_system_errors(failing: Callable[..., Outcome]) -> None:
    message = failing(OSError(13, "Permission denied", "/home/somebody/t.sqlite"))[2]
    assert "file: t.sqlite" in message
    assert "somebody" not in message


def test_internal_error_names_the_code_and_not_the_data(failing: Callable[..., Outcome]) -> None:
    code, _, message = failing(KeyError("secret kernel name"))
    assert code == 70
    assert "internal error: KeyError at test_exit_codes.py:" in message
    assert "--debug" in message
    assert "secret" not in message


@pytest.mark.parametrize("error", [KeyError("x"), InputError("x")])
def test_debug_adds_the_traceback(failing: Callable[..., Outcome], error: Exception) -> None:
    assert "Traceback (most recent call last)" in failing(error, "--debug")[2]


def test_debug_of_another_program_is_left_to_it() -> None:
    assert program._take_debug(["analyze", "t", "--debug"]) == (["analyze", "t"], True)
    assert program._take_debug(["run", "--", "x", "--debug"]) == (["run", "--", "x", "--debug"], False)
    assert program._take_debug(["--debug", "run", "x", "--debug"]) == (["run", "x", "--debug"], True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("analyse",), "No such command 'analyse'. Did you mean 'analyze'?"),
        (("schema", "--colour"), "No such option '--colour'"),
        (("analyze",), "Missing argument 'PATH...'"),
    ],
)
def test_wrong_command_lines_exit_2_and_point_to_the_help(
    run: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert not out
    assert message in err
    assert "--help" in err


def test_no_arguments_print_the_help(run: Callable[..., Outcome]) -> None:
    code, out, err = run()
    assert code == 2
    assert "analyze" in out + err


def test_version(run: Callable[..., Outcome]) -> None:
    from stallscope import __version__

    assert run("--version") == (0, f"stallscope {__version__}\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_this_program(run: Callable[..., Outcome], shell: str) -> None:
    code, out, _ = run("completion", shell)
    assert code == 0
    assert "_STALLSCOPE_COMPLETE" in out


def test_completion_offers_the_commands() -> None:
    environment = {
        **os.environ,
        "_STALLSCOPE_COMPLETE": "bash_complete",
        "COMP_WORDS": "stallscope an",
        "COMP_CWORD": "1",
    }
    ran = subprocess.run(
        [sys.executable, "-m", "stallscope"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout.split() == ["plain,analyze"]


def test_a_closed_pipe_is_quiet() -> None:
    script = f"'{sys.executable}' -m stallscope schema | true; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout in ("141\n", "0\n")
    assert not ran.stderr


def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path: Path) -> None:
    fifo = tmp_path / "slow.sqlite"
    os.mkfifo(fifo)
    command = [sys.executable, "-m", "stallscope", "report", str(fifo)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(1.0)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert running.returncode == 130
    assert not out
    assert "Traceback" not in err


def test_every_command_has_help_and_is_documented(repository: Path) -> None:
    documented = (repository / "docs" / "commands.md").read_text("utf-8")
    with click.Context(program.root) as context:
        for name in program.root.list_commands(context):
            command = program.root.get_command(context, name)
            assert command is not None
            assert command.help, name
            assert f"stallscope {name}" in documented, name
