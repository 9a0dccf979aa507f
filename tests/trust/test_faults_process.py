"""Killed, interrupted, or side by side on one cache: the next run works and nothing half-written is in the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stand_ins import REPORT, TRACE, environment, fake_nsys, program

from stallscope.cli._failures import EXIT_INTERNAL, EXIT_INTERRUPTED
from stallscope.cli.main import main

SLOW_STORE = """
import time, polars, sys
from pathlib import Path
real = polars.DataFrame.write_parquet
def slow(self, *arguments, **named):
    real(self, *arguments, **named)
    Path(sys.argv[1]).touch()
    time.sleep(60)
polars.DataFrame.write_parquet = slow
from stallscope.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)
    raise AssertionError(f"{path.name} never appeared")


def analysis(cache: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = program(cache, "analyze", *arguments)
    return subprocess.run(command, env=environment(cache), capture_output=True, text=True, timeout=120, check=False)


def test_killed_while_the_cache_is_written(tmp_path: Path) -> None:
    cache, begun = tmp_path / "cache", tmp_path / "begun"
    command = [sys.executable, "-c", SLOW_STORE, str(begun), "analyze", str(TRACE)]
    process = subprocess.Popen(command, env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(begun, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert [entry.name[:6] for entry in (cache / "tables").iterdir()] == [".part-"]
    ran = analysis(cache, TRACE, "--format", "json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["findings"]
    assert sorted(entry.name[0] == "." for entry in (cache / "tables").iterdir()) == [False, True]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_ended_while_nsys_exports(sent: signal.Signals, tmp_path: Path) -> None:
    if signal.getsignal(sent) is signal.SIG_IGN:
        pytest.skip("this shell ignores SIGINT and so do its children")
    cache, report, begun = tmp_path / "cache", tmp_path / "a.nsys-rep", tmp_path / "begun"
    report.write_bytes(REPORT)
    slow = f'echo half > "$OUT"; echo $$ > "{begun}.new"; mv "{begun}.new" "{begun}"; exec sleep 60'
    nsys = fake_nsys(tmp_path / "nsys", slow)
    command = program(cache, "analyze", report, "--nsys", nsys)
    process = subprocess.Popen(command, env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(begun, process)
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    child = int(begun.read_text())
    if sent is signal.SIGINT:
        assert process.returncode == EXIT_INTERRUPTED
        assert b"Traceback" not in err
        assert list((cache / "exports").iterdir()) == []
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    else:
        os.kill(child, signal.SIGKILL)
    assert out == b""
    fake_nsys(nsys, f'cp "{TRACE}" "$OUT"')
    assert analysis(cache, report, "--nsys", nsys).returncode == 0
    assert [file.name for file in tmp_path.glob("a.nsys-rep*")] == ["a.nsys-rep"]


def test_processes_side_by_side_on_one_cache(tmp_path: Path) -> None:
    cache, report = tmp_path / "cache", tmp_path / "a.nsys-rep"
    report.write_bytes(REPORT)
    nsys = fake_nsys(tmp_path / "nsys", f'sleep 0.3; cp "{TRACE}" "$OUT"')
    command = program(cache, "analyze", report, "--nsys", nsys, "--format", "json")
    running = [
        subprocess.Popen(command, env=environment(cache), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    answers = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], answers
    assert len({out for out, _ in answers}) == 1
    assert len(list((cache / "tables").iterdir())) == 1
    assert len(list((cache / "exports").iterdir())) == 1


@pytest.mark.parametrize(
    ("export", "told"),
    [
        ("head -c 3000000 /dev/urandom; exit 1", "cannot export it"),
        ('printf "\\033]0;owned\\007\\033[2J /home/alice/x error"; exit 1', "cannot export it"),
        ('head -c 5000 /dev/urandom > "$OUT"', "damaged"),
        ('printf "SQLite format 3" > "$OUT"', "truncated"),
        (': > "$OUT"', "cannot export it"),
        ("exit 0", "cannot export it"),
        ("kill -9 $$", "cannot export it"),
        ("kill -SEGV $$", "cannot export it"),
    ],
)
def test_an_nsys_that_misbehaves(
    export: str, told: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STALLSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    report = tmp_path / "a.nsys-rep"
    report.write_bytes(REPORT)
    nsys = fake_nsys(tmp_path / "nsys", export)
    assert main(["analyze", str(report), "--nsys", str(nsys)]) == 3
    captured = capfd.readouterr()
    assert told in captured.err
    assert "a.nsys-rep" in captured.err
    assert "alice" not in captured.err
    assert "\x1b" not in captured.err
    assert "Traceback" not in captured.err
    fake_nsys(nsys, f'cp "{TRACE}" "$OUT"')
    assert main(["analyze", str(report), "--nsys", str(nsys), "--format", "json"]) == 0


def test_a_panic_of_the_data_engine_is_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import polars as pl

    import stallscope.api

    def panic(*_: object, **_options: object) -> None:
        raise pl.exceptions.PanicException("index out of bounds in /home/alice/x")

    monkeypatch.setenv("STALLSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(stallscope.api, "examine_trace", panic)
    assert main(["analyze", str(TRACE)]) == EXIT_INTERNAL
    told = capsys.readouterr().err
    assert "internal error: PanicException" in told
    assert "alice" not in told
