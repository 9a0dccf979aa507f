"""Finding nsys and exporting with it; stand-in programs play what real versions say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlite_build import ExportBuilder, collected

from stallscope.errors import InputError, ToolMissingError
from stallscope.ingest import nsys_export
from stallscope.ingest.nsys_export import Nsys, candidates, explained, find_nsys, report_version
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.model import events

HEADER = b"NVIDIA Tegra Profiler Report 2025@5@1@121-255136380782v0.\n"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    path = folder / "app.nsys-rep"
    path.write_bytes(HEADER + b"content")
    return path


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No nsys anywhere but where a test puts one."""
    monkeypatch.setattr(nsys_export, "_FOLDERS", ())
    monkeypatch.delenv("STALLSCOPE_NSYS", raising=False)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")


def stand_in(path: Path, export: str, version: str = "2025.5.1.121-1v0") -> Path:
    """A program that answers --version as nsys does and otherwise runs `export` with $OUT set to the output path."""
    path.write_text(
        "#!/bin/sh\n"
        f'if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems version {version}"; exit 0; fi\n'
        'while [ $# -gt 1 ]; do [ "$1" = --output ] && OUT="$2"; shift; done\n'
        f"{export}\n"
    )
    path.chmod(0o755)
    return path


def options(tmp_path: Path, **others: object) -> OpenOptions:
    return OpenOptions(cache_dir=str(tmp_path / "cache"), **others)  # type: ignore[arg-type]


def copying(tmp_path: Path, extra: str = "") -> str:
    source = ExportBuilder().kernel(10, 20).write(tmp_path / "made.sqlite")
    return f'cp "{source}" "$OUT"; echo run >> "{tmp_path}/runs"; printf "[=50%%]\\r[==100%%]\\n"; {extra}'


def runs(tmp_path: Path) -> int:
    log = tmp_path / "runs"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_a_report_is_exported_once_and_reopens_without_nsys(report: Path, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "bin" / "nsys", copying(tmp_path))
    trace = open_trace(report, options(tmp_path))
    assert (trace.source.name, trace.source.format) == ("app.nsys-rep", "nsys-rep")
    assert len(collected(trace, events.Kernels)) == 1
    assert open_trace(report, options(tmp_path)).source == trace.source
    assert runs(tmp_path) == 1
    program.unlink()
    assert open_trace(report, options(tmp_path)).source == trace.source
    assert [p.name for p in report.parent.iterdir()] == ["app.nsys-rep"]


def test_another_nsys_exports_again(report: Path, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "nsys", copying(tmp_path))
    open_trace(report, options(tmp_path))
    stand_in(tmp_path / "bin" / "nsys", copying(tmp_path), version="2026.1.0.1")
    open_trace(report, options(tmp_path))
    assert runs(tmp_path) == 2


def test_without_the_cache_nothing_is_kept(report: Path, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "nsys", copying(tmp_path))
    for _ in range(2):
        assert len(collected(open_trace(report, options(tmp_path, use_cache=False)), events.Kernels)) == 1
    assert runs(tmp_path) == 2
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_does_not_stop_an_export(report: Path, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "nsys", copying(tmp_path))
    (tmp_path / "cache").write_text("a file where the folder should be")
    assert len(collected(open_trace(report, options(tmp_path)), events.Kernels)) == 1


def test_a_damaged_export_in_the_cache_is_made_again(report: Path, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "nsys", copying(tmp_path))
    open_trace(report, options(tmp_path))
    (kept,) = (tmp_path / "cache" / "exports").iterdir()
    kept.write_bytes(kept.read_bytes()[:3000])
    for entry in (tmp_path / "cache" / "tables").iterdir():
        (entry / "trace.json").write_text("{")
    assert len(collected(open_trace(report, options(tmp_path)), events.Kernels)) == 1
    assert runs(tmp_path) == 2


def test_progress_is_told(report: Path, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "nsys", 'printf "[=25%%]"; sleep 0.4;' + copying(tmp_path))
    told: list[tuple[str, float | None]] = []
    open_trace(report, options(tmp_path, progress=lambda stage, share: told.append((stage, share))))
    assert ("exporting the report with nsys", 0.25) in told
    assert any(stage.startswith("reading CUPTI_ACTIVITY_KIND_KERNEL") for stage, _ in told)


def test_no_nsys_says_what_to_install(report: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolMissingError, match="nsys") as missing:
        open_trace(report, options(tmp_path))
    assert missing.value.exit_code == 4
    assert missing.value.file == "app.nsys-rep"
    assert "nsys export --type sqlite" in str(missing.value)


def test_the_flag_beats_the_variable_beats_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, version in (("nsys", "2021.1.1.1"), ("by-variable", "2022.2.2.2"), ("by-flag", "2023.3.3.3")):
        stand_in(tmp_path / "bin" / name, "exit 1", version)
    assert find_nsys().version == (2021, 1, 1, 1)
    monkeypatch.setenv("STALLSCOPE_NSYS", "by-variable")
    assert find_nsys().label == "2022.2.2"
    assert find_nsys(str(tmp_path / "bin" / "by-flag")).label == "2023.3.3"
    monkeypatch.setenv("STALLSCOPE_NSYS", "/nowhere/nsys")
    with pytest.raises(ToolMissingError, match="STALLSCOPE_NSYS names no program"):
        find_nsys()


def test_of_several_installations_one_that_can_open_the_report_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for release in ("2023.4.4", "2025.5.1", "2026.1.1"):
        folder = tmp_path / "opt" / release / "bin"
        folder.mkdir(parents=True)
        stand_in(folder / "nsys", "exit 1", f"{release}.9")
    stand_in(tmp_path / "bin" / "nsys", "exit 1", "2024.1.1.9")
    monkeypatch.setattr(nsys_export, "_FOLDERS", (f"{tmp_path}/opt/*/bin",))
    assert len(candidates()) == 4
    assert find_nsys().label == "2024.1.1"
    assert find_nsys(needed=(2025, 5, 1, 121)).version >= (2025, 5, 1)
    assert find_nsys(needed=(2030, 1, 1)).label == "2026.1.1"


def test_a_program_that_is_not_nsys(tmp_path: Path) -> None:
    other = tmp_path / "bin" / "other"
    other.write_text("#!/bin/sh\necho hello\n")
    other.chmod(0o755)
    with pytest.raises(ToolMissingError, match="tells no version"):
        find_nsys(str(other))


@pytest.mark.parametrize(
    ("said", "told", "then"),
    [
        (
            "Exportation error: Version number is invalid: 2025@5@1@121-255136380782v0",
            "made by nsys 2025.5.1.121, and nsys 2023.4.4 cannot open newer reports",
            "install nsys 2025.5.1.121 or newer",
        ),
        (
            "Exportation error: Report was created in Nsight Systems version (2025.5.1.121-2v0), newer than your",
            "made by nsys 2025.5.1.121",
            "2025.5.1.121 or newer",
        ),
        ("Exportation error: Cannot read from stream.", "truncated or damaged", "copy it again"),
        (
            "Exportation error: Section Table Reference magic number mismatch.",
            "truncated or damaged",
            "capture it again",
        ),
        (
            "/dvs/p4/x.cpp(73): Throw\nstd::exception::what: ProtobufParseException",
            "damaged report",
            "capture it again",
        ),
        (
            "Can't parse message because it is missing required fields: X.Type\nProtobufParseException",
            "damaged report, or one that a newer nsys wrote",
            "try a newer nsys",
        ),
        ("Invalid version prefix: U3w[END]NVIDIA", "damaged report", "capture it again"),
        ("sqlite: database is locked", "without locks", "STALLSCOPE_CACHE_DIR"),
        ("write: No space left on device", "the disk is full", "STALLSCOPE_CACHE_DIR"),
        ("Error: strange thing in /home/alice/x", "strange thing in <path>", "newer nsys"),
        ("", "it said nothing", "newer nsys"),
    ],
)
def test_messages_of_nsys_become_reasons(said: str, told: str, then: str) -> None:
    error = explained("app.nsys-rep", Nsys("nsys", (2023, 4, 4, 54)), said)
    assert told in error.what
    assert then in str(error.next_step)
    assert "alice" not in str(error)
    assert ".cpp" not in str(error)


def test_old_nsys_that_only_fails_is_too_old_for_what_the_header_tells() -> None:
    made_by, old = (2023, 4, 4, 54), Nsys("nsys", (2020, 4, 3, 7))
    said = "Failed to export report.\nVersion number is invalid."
    assert "made by nsys 2023.4.4.54, and nsys 2020.4.3" in explained("a", old, said, made_by=made_by).what
    assert "cannot export it" in explained("a", Nsys("nsys", made_by), said, made_by=made_by).what
    assert explained("a", old, "No space left on device", made_by=made_by).what == "the disk is full"


def test_nsys_that_knows_no_lazy_tables_exports_without(report: Path, tmp_path: Path) -> None:
    refuse = "case $* in *--lazy*) echo \"unrecognised option '--lazy'\"; exit 1;; esac"
    program = stand_in(tmp_path / "bin" / "nsys", copying(tmp_path))
    program.write_text(program.read_text().replace("while [", f"{refuse}\nwhile [", 1))
    assert len(collected(open_trace(report, options(tmp_path)), events.Kernels)) == 1
    assert runs(tmp_path) == 1


def test_a_failing_export_leaves_nothing(report: Path, tmp_path: Path) -> None:
    stand_in(
        tmp_path / "bin" / "nsys", 'echo half > "$OUT"; echo "Exportation error: Cannot read from stream."; exit 1'
    )
    with pytest.raises(InputError, match="truncated") as refused:
        open_trace(report, options(tmp_path))
    assert refused.value.file == "app.nsys-rep"
    assert list((tmp_path / "cache" / "exports").iterdir()) == []


def test_an_export_that_succeeds_without_output_is_a_failure(report: Path, tmp_path: Path) -> None:
    stand_in(tmp_path / "bin" / "nsys", "exit 0")
    with pytest.raises(InputError, match="cannot export it"):
        open_trace(report, options(tmp_path))


def test_an_nsys_that_hangs_is_stopped(report: Path, tmp_path: Path) -> None:
    program = stand_in(tmp_path / "bin" / "nsys", "exec sleep 60")
    with pytest.raises(InputError, match="made no progress"):
        nsys_export.export(report, tmp_path / "out.sqlite", Nsys(str(program), (2025,)), stalled_s=0.3)
    assert sorted(p.name for p in tmp_path.glob("*part*")) == []


def test_the_report_tells_its_version(report: Path, tmp_path: Path) -> None:
    assert report_version(report) == (2025, 5, 1, 121)
    other = tmp_path / "x"
    other.write_bytes(b"NVIDIA Tegra Profiler Report of old")
    assert report_version(other) == ()
