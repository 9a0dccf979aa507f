"""`stallscope run` with a stand-in for nsys, and with the real one where it is installed."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from stallscope.capture.private_start import isolation, private_start
from stallscope.capture.profile import _importers
from stallscope.errors import StallscopeError
from stallscope.ingest.nsys_export import find_nsys

SECRETS = ("hunter2-token", "line of output", "--private-argument")
STAND_IN = """#!{python}
import os, pathlib, subprocess, sys
words = sys.argv[1:]
if words == ["--version"]: print("NVIDIA Nsight Systems version 2026.1.1.1"); sys.exit()
if words[:2] == ["profile", "--help"]:
    print("--cuda-memory-usage --cuda-um-gpu-page-faults --cuda-um-cpu-page-faults")
    sys.exit()
end = next(n for n, word in enumerate(words[1:], 1) if not word.startswith("--"))
options = words[1:end]
output = next(word.partition("=")[2] for word in options if word.startswith("--output="))
program = words[end:]
seen = [*options, *program, os.getcwd(), *(f"{{k}}={{v}}" for k, v in os.environ.items())]
print("Generated a report")
ran = subprocess.run(program, env={{**os.environ, "INJECTED": "1", "LD_LIBRARY_PATH": "/injected"}}, close_fds=False)
pathlib.Path(output + ".nsys-rep").write_text("\\n".join(seen))
sys.exit(ran.returncode)
"""
PROGRAM = """
import os, sys
print("line of output", os.getcwd(), *sys.argv[1:])
print("to stderr", file=sys.stderr)
print(os.environ["TOKEN"], os.environ["ODD"], os.environ["INJECTED"], os.environ["LD_LIBRARY_PATH"])
sys.exit(int(os.environ.get("CODE", "0")))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a program and a stand-in for nsys."""
    nsys = tmp_path / "nsys"
    nsys.write_text(STAND_IN.format(python=sys.executable))
    nsys.chmod(nsys.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def run(place: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "TOKEN": "hunter2-token", "ODD": "a'b\n$c `d`", "LD_LIBRARY_PATH": "/own", **environment}
    command = [sys.executable, "-m", "stallscope", "run", *words]
    return subprocess.run(command, cwd=place, env=variables, capture_output=True, text=True, timeout=120, check=False)


def program(*arguments: str) -> list[str]:
    return ["--", sys.executable, "program.py", "--private-argument", *arguments]


def test_program_keeps_its_environment_folder_arguments_and_streams(place: Path) -> None:
    done = run(place, "--nsys", "./nsys", "-o", "a.nsys-rep", "--no-analyze", *program("it's", "$x"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"line of output {place} --private-argument it's $x",
        "hunter2-token a'b",
        "$c `d` 1 /injected:/own",
    ]
    assert "to stderr" in done.stderr
    assert "Generated a report" in done.stderr


def test_profiler_sees_nothing_of_them(place: Path) -> None:
    run(place, "--nsys", "./nsys", "-o", "a.nsys-rep", "--no-analyze", *program())
    report = (place / "a.nsys-rep").read_text()
    assert [secret for secret in (*SECRETS, str(place), "program.py") if secret in report] == []
    assert "--trace=cuda,nvtx" in report


def test_environment_is_recorded_on_request(place: Path) -> None:
    words = ["--nsys", "./nsys", "-o", "a.nsys-rep", "--no-analyze", "--keep-environment"]
    done = run(place, *words, *program(), INJECTED="0")
    assert done.returncode == 0, done.stderr
    assert "hunter2-token" in (place / "a.nsys-rep").read_text()


@pytest.mark.parametrize("code", [1, 7, 130])
def test_exit_code_is_the_programs_and_a_failure_is_not_analyzed(place: Path, code: int) -> None:
    done = run(place, "--nsys", "./nsys", "-o", "a.nsys-rep", *program(), CODE=str(code))
    assert done.returncode == code
    assert "nothing is analyzed" in done.stderr


def test_dry_run_prints_every_command_and_does_nothing(place: Path) -> None:
    words = ["--nsys", "./nsys", "--dry-run", "--for", "uvm.*", "--for", "alloc.pool_trim", "--repeat", "2"]
    done = run(place, *words, "-o", "a", *program())
    lines = done.stdout.splitlines()
    assert (done.returncode, len(lines)) == (0, 4)
    assert all(line.endswith("program.py --private-argument") for line in lines)
    assert "--cuda-memory-usage=true" in lines[2]
    assert "--cuda-um-gpu-page-faults=true" in lines[3]
    assert not list(place.glob("a*"))


def test_dry_run_works_without_nsys(place: Path) -> None:
    done = run(place, "--dry-run", "--", "true", PATH="/nowhere", STALLSCOPE_NSYS="")
    assert done.returncode == 0
    assert done.stdout.endswith("--output=stallscope true\n")


def test_each_run_announces_its_command_and_overhead(place: Path) -> None:
    done = run(place, "--nsys", "./nsys", "-o", "a", "--no-analyze", "--for", "uvm.fault_gpu", *program())
    assert "[1/2] times:" in done.stderr
    assert "[2/2] uvm:" in done.stderr
    assert "tracing page faults slows every fault" in done.stderr
    assert {file.name for file in place.glob("a*")} == {"a.nsys-rep", "a-uvm.nsys-rep"}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--for", "no.such_wait", "--", "true"], 2, "no wait is called"),
        (["-o", "a.sqlite", "--", "true"], 2, "-o names the report"),
        (["-o", "absent/a", "--", "true"], 2, "no such folder"),
        (["--nsys", "/no/such/nsys", "--", "true"], 4, "names no program"),
        (["--nsys", "./nsys", "--no-analyze", "--", "/no/such/program"], 127, "/no/such/program"),
        ([], 2, "Missing argument"),
    ],
)
def test_mistakes_are_told_with_their_exit_code(place: Path, words: list[str], code: int, said: str) -> None:
    done = run(place, *words)
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


def test_profiler_that_stops_before_the_program_is_tried_twice(place: Path) -> None:
    nsys = (place / "nsys").read_text()
    stumbles = 'once = pathlib.Path(__file__).with_name("stumbled")\nif not once.exists(): once.touch(); sys.exit(1)\n'
    (place / "nsys").write_text(nsys.replace("options = words", stumbles + "options = words"))
    done = run(place, "--nsys", "./nsys", "-o", "a", "--no-analyze", *program())
    assert (done.returncode, done.stdout.count("line of output")) == (0, 1), done.stderr
    (place / "nsys").write_text(nsys.replace("options = words", "sys.exit(9)\noptions = words"))
    done = run(place, "--nsys", "./nsys", "-o", "b", "--no-analyze", *program())
    assert done.returncode == 4
    assert "before it started the program" in done.stderr


def test_options_after_the_program_are_its_own(place: Path) -> None:
    done = run(place, "--dry-run", "--nsys", "./nsys", "echo", "--repeat", "5", "--help")
    assert done.stdout.rstrip().endswith("echo --repeat 5 --help")


@pytest.mark.parametrize("name", ["WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE"])
def test_one_rank_of_several_keeps_its_process_namespace(name: str) -> None:
    assert isolation({name: "8"}) == ()
    assert bool(isolation({name: "1"})) == bool(isolation({}))


def test_isolated_runs_have_different_process_numbers_and_no_capabilities() -> None:
    prefix = isolation({})
    if not prefix:
        pytest.skip("this system does not allow process namespaces: nothing is isolated")
    ask = ["sh", "-c", "echo $$; grep -c . /proc/self/status; grep CapAmb /proc/self/status; exit 7"]
    first, second = (subprocess.run([*isolation({}), *ask], capture_output=True, text=True, check=False) for _ in "ab")
    assert (first.returncode, second.returncode) == (7, 7)
    numbers = [int(done.stdout.split()[0]) for done in (first, second)]
    assert min(numbers) > 1_000
    assert numbers[0] != numbers[1]
    assert first.stdout.split()[-1] == "0" * 16


def test_script_is_private_and_gone(tmp_path: Path) -> None:
    with private_start(["true"], {"A": "1", "BASH_FUNC_x%%": "() { :; }"}, tmp_path) as start:
        assert stat.S_IMODE(start.script.stat().st_mode) == 0o700
        assert "A" not in start.environment
        ran = subprocess.run(start.program, env=start.environment, pass_fds=start.descriptors, check=False)
        assert ran.returncode == 0
        assert start.started
    assert not start.folder.exists()


@pytest.fixture(scope="module")
def real_nsys() -> str:
    """The real nsys with its importer, or a skip that says what is missing."""
    try:
        nsys = find_nsys().program
    except StallscopeError:
        pytest.skip("nsys is not installed: `run` is tested with a stand-in only")
    if not list(_importers(nsys)):
        pytest.skip("this nsys has no QdstrmImporter: it cannot finish a report here")
    return nsys


def test_real_nsys_records_and_keeps_secrets_out(place: Path, real_nsys: str) -> None:
    (place / "program.py").write_text(PROGRAM.replace('os.environ["INJECTED"], ', ""))
    done = run(place, "--nsys", real_nsys, "-o", "real.nsys-rep", *program())
    assert done.returncode == 0, done.stderr
    assert "hunter2-token" in done.stdout
    assert "No GPU activity" in done.stdout
    report = (place / "real.nsys-rep").read_bytes()
    assert [secret for secret in (*SECRETS, "program.py") if secret.encode() in report] == []
    export = place / "real.sqlite"
    words = [real_nsys, "export", "--type", "sqlite", "--output", str(export), str(place / "real.nsys-rep")]
    subprocess.run(words, capture_output=True, timeout=120, check=True)
    hidden = bool(isolation({}))  # else nsys sees this test's own processes
    assert [secret for secret in (*SECRETS, "program.py") if hidden and secret.encode() in export.read_bytes()] == []
    assert hidden or "this system does not allow hiding them" in done.stderr


def test_real_nsys_runs_beside_another_one(place: Path, real_nsys: str) -> None:
    words = [sys.executable, "-m", "stallscope", "run", "--nsys", real_nsys, "--no-analyze"]
    started = [
        subprocess.Popen([*words, "-o", f"beside{n}", "--", "sleep", "1"], cwd=place, stderr=subprocess.PIPE, text=True)
        for n in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    assert len(list(place.glob("beside*.nsys-rep"))) == 2


def test_real_nsys_passes_the_exit_code(place: Path, real_nsys: str) -> None:
    shutil.copy(shutil.which("false") or "/bin/false", place / "fails")
    done = run(place, "--nsys", real_nsys, "-o", "real", "--", "./fails")
    assert done.returncode == 1
    assert (place / "real.nsys-rep").is_file()
