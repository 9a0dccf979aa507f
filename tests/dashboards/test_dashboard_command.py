"""The command as a user runs it: its address, its end, and its words when it cannot start."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SAMPLE = "sample_traces/h200/py_host_sync.sqlite"
COMMAND = [sys.executable, "-m", "stallscope", "dashboard"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "STALLSCOPE_CACHE_DIR": str(tmp_path / "cache"), "STALLSCOPE_HISTORY": str(tmp_path / "none")}


@contextmanager
def started(arguments: list[str], environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *arguments], text=True, env=environment, **pipes) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_its_address_serves_and_stops_cleanly(
    repository: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    with started(["--port", "0", str(repository / SAMPLE)], environment) as (process, url):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", url)
        with urllib.request.urlopen(url, timeout=20) as answer:  # noqa: S310 - our own server
            assert answer.status == 200
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 0
        assert errors == ""


def refused(arguments: list[str], environment: dict[str, str]) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_a_port_in_use_is_said(repository: Path, environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, text = refused(["--port", str(port), str(repository / SAMPLE)], environment)
    assert code == 2
    assert f"port {port} is in use" in text
    assert "--port 0" in text


def test_a_missing_trace_is_said(environment: dict[str, str]) -> None:
    code, text = refused(["--port", "0", "no-such.sqlite"], environment)
    assert code == 3
    assert "no such file" in text
    assert "no-such.sqlite" in text


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1"])  # noqa: S104
def test_other_machines_need_an_explicit_word(repository: Path, environment: dict[str, str], host: str) -> None:
    code, text = refused(["--host", host, "--port", "0", str(repository / SAMPLE)], environment)
    assert code == 2
    assert "--allow-remote" in text


def test_with_that_word_the_address_carries_a_token(repository: Path, environment: dict[str, str]) -> None:
    arguments = ["--host", "0.0.0.0", "--allow-remote", "--port", "0", str(repository / SAMPLE)]  # noqa: S104
    with started(arguments, environment) as (_, url):
        assert re.search(r"\?token=[\w-]{32}$", url)


@pytest.mark.parametrize("port", ["70000", "-3"])
def test_a_port_that_is_none_is_said(repository: Path, environment: dict[str, str], port: str) -> None:
    code, text = refused(["--port", port, str(repository / SAMPLE)], environment)
    assert code == 2
    assert "port" in text


def test_a_host_that_is_not_here_is_said(repository: Path, environment: dict[str, str]) -> None:
    code, text = refused(
        ["--host", "192.0.2.1", "--allow-remote", "--port", "0", str(repository / SAMPLE)], environment
    )
    assert code == 2
    assert "cannot listen on 192.0.2.1" in text
