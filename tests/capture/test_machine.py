"""What the machine check concludes from what it sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from stallscope.capture import machine, programs
from stallscope.capture.programs import find_program


def script(folder: Path, name: str, body: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    file.chmod(0o755)
    return str(file)


def test_version_of_a_profiler_that_answers(tmp_path: Path) -> None:
    found = find_program("nsys", script(tmp_path, "nsys", "echo NVIDIA Nsight Systems version 2023.4.4.54-234v0"))
    assert found is not None
    assert (found.version, found.fault) == ("2023.4.4.54-234v0", "")


def test_profiler_that_is_not_installed() -> None:
    assert find_program("surely-no-such-profiler") is None


def test_configured_profiler_that_is_missing_is_not_replaced_by_another(tmp_path: Path) -> None:
    found = find_program("sh", str(tmp_path / "missing"))
    assert found is not None
    assert found.fault == "no such program"


def test_profiler_that_fails_says_why(tmp_path: Path) -> None:
    found = find_program("nsys", script(tmp_path, "nsys", "echo 'libssh.so.4: cannot open' >&2; exit 127"))
    assert found is not None
    assert found.fault == "libssh.so.4: cannot open"


def test_profiler_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "TIMEOUT_S", 0.2)
    found = find_program("nsys", script(tmp_path, "nsys", "exec sleep 30"))
    assert found is not None
    assert found.fault == "gives no answer within 0.2 s"


@pytest.mark.parametrize(("level", "state"), [("-1", "ok"), ("2", "ok"), ("4", "limited")])
def test_cpu_sampling_depends_on_the_kernel_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str, state: str
) -> None:
    file = tmp_path / "perf_event_paranoid"
    file.write_text(f"{level}\n", "utf-8")
    monkeypatch.setattr(machine, "PARANOID", file)
    assert [condition.state for condition in machine._sampling()] == [state]


def test_counters_kept_for_administrators_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "params"
    file.write_text("EnableMSI: 1\nRmProfilingAdminOnly: 1\n", "utf-8")
    monkeypatch.setattr(machine, "DRIVER_PARAMETERS", file)
    found = list(machine._counters())
    assert found[0].state == "limited"
    assert "NVreg_RestrictProfilingToAdminUsers=0" in found[0].remedy


def test_little_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "LEAST_FREE_BYTES", 1 << 60)
    assert machine._disk(tmp_path / "not" / "yet" / "made").state == "limited"


def test_path_of_a_program_does_not_show_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert machine._shown(tmp_path / "bin" / "nsys") == "~/bin/nsys"
