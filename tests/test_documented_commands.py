"""Every command line and every Python snippet of the documentation runs: files of the named kinds lie in the folder.

A page that names another file needs a line in SAMPLES. `trace.nsys-rep` is an export here: the content of a file
decides, not its suffix, and reports are exported in the tests of the reader.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from stallscope.cli.main import main

ROOT = Path(__file__).resolve().parent.parent
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
PROGRAMS = ("stallscope", "python", "pip", "make", "nsys", "ssh", "ncu", "git")
COMMAND = re.compile(rf"^\s*(?:- )?(?:run: )?((?:{'|'.join(PROGRAMS)}) .*)$")

NOT_RUN = {
    r"stallscope run ": "needs a program on a GPU; tests/capture/test_run_command.py runs it over an nsys of its own",
    r"stallscope dashboard ": "serves until it is stopped; tests/dashboards and tests/browser start it",
    r"stallscope analyze .* --scheduler tcp:": "needs a Dask cluster; tests/ranks/test_cluster.py starts one",
    r"nsys ": "needs nsys: tests/ingest/test_nsys_export.py",
    r"(pip|python -m pip) ": "needs a package index; tests/test_wheel.py installs the wheel",
    r"make ": "the targets run these tests",
    r"ssh ": "needs another machine",
    r"python benchmarks/": "minutes; tests/trust/test_fuzz_slices.py runs slices of the campaigns",
}
"""Command lines (regular expressions from the start) that do not run here, and why."""

GATES = re.compile(r"--fail-on|--budgets|--fail-on-regression|^stallscope (check|numerics|diff) ")
"""Commands that may answer 1."""

SAMPLES = {
    "trace.sqlite": "h200/py_launch_gaps.sqlite",
    "trace.nsys-rep": "h200/py_launch_gaps.sqlite",
    "train.nsys-rep": "h200/py_alloc_sync.sqlite",
    "train.sqlite": "h200/py_alloc_sync.sqlite",
    "before.nsys-rep": "h200/py_launch_gaps.sqlite",
    "after.nsys-rep": "h200/py_launch_gaps_graph_node.sqlite",
    "base.nsys-rep": "h200/py_launch_gaps.sqlite",
    "head.nsys-rep": "h200/py_launch_gaps_graph_node.sqlite",
    "ranks/rank0.nsys-rep": "h200/cu_alloc.sqlite",
    "all.nsys-rep": "h200/cu_alloc.sqlite",
    **{
        f"sample_traces/h200/{name}.sqlite": f"h200/{name}.sqlite"
        for name in ("py_alloc_sync", "py_launch_gaps", "py_launch_gaps_graph_node")
    },
}
BUDGETS = '[budgets]\n"launch.gap" = "99 %"\n"copy.pageable" = { max = "300 us", nvtx = "forward", per = "step" }\n'

PYTORCH_TRACE = {
    "schemaVersion": 1,
    "traceEvents": [
        {
            "ph": "X",
            "cat": "kernel",
            "name": "k",
            "pid": 0,
            "tid": 7,
            "ts": 5,
            "dur": 4,
            "args": {"device": 0, "stream": 7},
        }
    ],
}


def code_lines(page: Path) -> Iterator[str]:
    """Lines of the code blocks of a page: fenced, or indented by four spaces."""
    fenced = False
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield line


def commands(page: Path) -> list[str]:
    """Command lines of a page without their comments; a line of several commands is several."""
    found = [match[1] for line in code_lines(page) if (match := COMMAND.match(line))]
    return [part for line in found for part in re.split(r" && ", re.sub(r"\s+# .*$", "", line).strip())]


def reason(command: str) -> str | None:
    """Why a command does not run here."""
    return next((why for pattern, why in NOT_RUN.items() if re.match(pattern, command)), None)


RUN = [(page, [c for c in commands(page) if not reason(c)]) for page in PAGES]
ALL = {command for page in PAGES for command in commands(page)}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages name."""
    folder = tmp_path_factory.mktemp("documented")
    for name, sample in SAMPLES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / "sample_traces" / sample, folder / name)
    (folder / "stallscope.toml").write_text(BUDGETS, "utf-8")
    (folder / "traces").mkdir()
    for rank in range(2):
        trace = {**PYTORCH_TRACE, "distributedInfo": {"rank": rank, "world_size": 2}}
        (folder / "traces" / f"rank{rank}.pt.trace.json.gz").write_bytes(gzip.compress(json.dumps(trace).encode()))
    _write_outputs(folder)
    _write_documents(folder)
    return folder


def _write_outputs(folder: Path) -> None:
    import torch

    left, right = np.eye(8, dtype=np.float32), np.ones((8, 8), np.float32)
    product = {"logits": left @ right}
    for name in ("base", "base2", "head", "head1", "head2", "head3"):
        torch.save({key: torch.from_numpy(value) for key, value in product.items()}, folder / f"{name}.pt")
        np.savez(folder / f"{name}.npz", **product)
    np.savez(folder / "fp64.npz", logits=product["logits"].astype(np.float64))
    torch.save({"a": torch.from_numpy(left), "b": torch.from_numpy(right)}, folder / "ab.pt")


def _write_documents(folder: Path) -> None:
    for side, name in (("base", "before"), ("head", "after")):
        (folder / side).mkdir()
        document = folder / side / "1.json"
        assert main(["analyze", "--no-cache", str(folder / f"{name}.nsys-rep"), "-o", str(document)]) == 0
        shutil.copyfile(document, folder / f"{side}.json")
    shutil.copyfile(folder / "base.json", folder / "analysis.json")
    shutil.copyfile(folder / "base.json", folder / "report.json")


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of these files as working directory, with a history and a cache of its own."""
    place = tmp_path / "documented"
    shutil.copytree(prepared, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("STALLSCOPE_HISTORY", str(tmp_path / "history.sqlite"))
    monkeypatch.setenv("STALLSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    return place


def words(command: str, folder: Path) -> list[str]:
    """Arguments as a shell would hand them over."""
    expanded: list[str] = []
    for word in shlex.split(command)[1:]:
        found = (
            sorted(str(path.relative_to(folder)) for path in folder.glob(word)) if re.search(r"\w+/?\*", word) else []
        )
        expanded += found or [word]
    return expanded


@pytest.mark.parametrize(
    ("page", "lines"),
    [pytest.param(page, lines, id=str(page.relative_to(ROOT))) for page, lines in RUN if lines],
)
def test_commands_of_the_page_run(
    page: Path, lines: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if page.name == "diff.md":
        assert main(["history", "add", "base.json", "--series", "s", "--commit", "1a2b3c4", "--baseline", "main"]) == 0
    for line in lines:
        code = main(words(line, folder))
        told = capsys.readouterr()
        assert code in ({0, 1} if GATES.search(line) else {0}), f"{line}: {code}\n{told.err}"
        assert "Traceback" not in told.err


def commands_of_the_program() -> dict[str, set[str]]:
    """Options by command, as the program's own parser has them."""
    from click import Command, Context, Group

    from stallscope.cli.main import root

    def options(command: Command) -> set[str]:
        own = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        below = command.commands.values() if isinstance(command, Group) else ()
        return own.union(*map(options, below))

    context = Context(root)
    names = root.list_commands(context)
    return {name: options(found) for name in names if (found := root.get_command(context, name))}


def test_every_named_command_and_option_exists() -> None:
    known = commands_of_the_program()
    for page in PAGES:
        text = page.read_text("utf-8")
        named = {
            *re.findall(r"`(stallscope [^`]+)`", text),
            *(c for c in commands(page) if c.startswith("stallscope ")),
        }
        for line in named:
            command, *rest = line.split(" -- ")[0].split("|")[0].split()[1:]
            used = {word.split("=")[0].rstrip(",.)") for word in rest if word.startswith("--") and len(word) > 2}
            assert command in known or command.startswith("-"), f"{page.name}: {line}"
            assert used <= known.get(command, used) | {"--debug", "--help"}, f"{page.name}: {line}"


def snippets(page: Path) -> Iterator[str]:
    """Python of a page: fenced as such, or an indented block that begins with an import."""
    text = page.read_text("utf-8")
    yield from re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    yield from map(dedent, re.findall(r"(?:^|\n\n)((?:    (?:import|from) .*\n)(?:    .*\n|\n(?=    ))*)", text))


SNIPPETS = [(page, text) for page in PAGES for text in snippets(page) if "…" not in text]
"""The template of a rule, whose parts are left out, is none; the catalogue's tests hold every rule to it."""


@pytest.mark.parametrize(("page", "text"), [pytest.param(p, t, id=p.name) for p, t in SNIPPETS])
def test_python_of_the_page_runs(page: Path, text: str, folder: Path) -> None:
    import torch

    shutil.copyfile(folder / "traces" / "rank0.pt.trace.json.gz", folder / "rank0.json.gz")
    shutil.copyfile(folder / "traces" / "rank1.pt.trace.json.gz", folder / "rank1.json.gz")
    exec(compile(text, str(page), "exec"), {"logits": torch.ones(2), "loss": torch.ones(1)})  # noqa: S102


def test_snippets_are_found() -> None:
    assert {page.name for page, _ in SNIPPETS} >= {"commands.md", "numerics.md", "ranks.md"}


def test_every_reason_is_needed() -> None:
    unused = [pattern for pattern in NOT_RUN if not any(re.match(pattern, command) for command in ALL)]
    assert unused == []


def test_commands_are_found() -> None:
    assert sum(len(lines) for _, lines in RUN) > 20
    assert "stallscope analyze trace.nsys-rep" in ALL
