"""The same file gives the same bytes: in any run, locale, time zone, hash seed and thread count, cached or not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stallscope.api import Options, analyze
from stallscope.ingest import at_once, sqlite_pages
from stallscope.ingest.open import OpenOptions
from stallscope.ranks import rank_files
from stallscope.reporters.formats import FORMATS
from stallscope.timeline import kernel_work, side_by_side
from stallscope.waits import places

SAMPLES = Path(__file__).resolve().parent.parent.parent / "sample_traces"
TRACES = [SAMPLES / "h200" / "py_gpt_train.sqlite", SAMPLES / "h200" / "py_dataloader.sqlite"]
RANKS = [SAMPLES / "launch" / f"{name}.sqlite" for name in ("eager", "graph", "large")]

PROGRAM = """
import locale, sys
from pathlib import Path
from stallscope.api import Options, analyze
from stallscope.ingest.open import OpenOptions
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    pass
cached, files = sys.argv[1] == "cached", [Path(f) for f in sys.argv[2:]]
for path in files:
    options = Options(opening=OpenOptions(use_cache=cached), everything=True)
    sys.stdout.write(analyze(path, options).to_json())
"""

ENVIRONMENTS = {
    "another run": {},
    "the C locale": {"LC_ALL": "C", "LANG": "C"},
    "another time zone": {"TZ": "Pacific/Chatham"},
    "another hash seed": {"PYTHONHASHSEED": "4711"},
    "one thread": {"POLARS_MAX_THREADS": "1"},
    "many threads": {"POLARS_MAX_THREADS": "7"},
    "no compiled loops": {"STALLSCOPE_PURE": "1"},
}


def printed(*arguments: str, **environment: str) -> str:
    ran = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONHASHSEED": "0", **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=True,
    )
    return ran.stdout


@pytest.fixture(scope="module")
def reference() -> str:
    text = printed("-c", PROGRAM, "fresh", *map(str, TRACES))
    assert text.count('"schema_version"') == len(TRACES)
    return text


@pytest.fixture(scope="module")
def comma(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A locale with decimal commas, built where the machine has none."""
    folder = tmp_path_factory.mktemp("locales")
    builder = shutil.which("localedef")
    if builder is None:
        pytest.skip("no localedef on this machine: no locale with decimal commas can be made")
    command = [builder, "-i", "de_DE", "-f", "UTF-8", str(folder / "de_DE.UTF-8")]
    subprocess.run(command, capture_output=True, check=False)
    chosen = {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}
    asked = "import locale; locale.setlocale(locale.LC_ALL, ''); print(locale.localeconv()['decimal_point'])"
    try:
        if printed("-c", asked, **chosen).strip() == ",":
            return chosen
    except subprocess.CalledProcessError:
        pass
    pytest.skip("this machine has no sources of locales: none with decimal commas can be made")


def test_a_locale_with_decimal_commas_changes_no_byte(reference: str, comma: dict[str, str]) -> None:
    assert printed("-c", PROGRAM, "fresh", *map(str, TRACES), **comma) == reference


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_environment_changes_no_byte(name: str, reference: str) -> None:
    assert printed("-c", PROGRAM, "fresh", *map(str, TRACES), **ENVIRONMENTS[name]) == reference


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_what_large_traces_do_at_once_changes_no_byte(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables decoded ahead, rules, devices and findings in two threads, work counted beside the diagnosis, in parts."""
    whole = Options(opening=OpenOptions(use_cache=False), everything=True)
    one_after_the_other = analyze(trace, whole).to_json()
    monkeypatch.setattr(sqlite_pages, "_LARGE_BYTES", 0)
    monkeypatch.setattr(at_once, "_LONG", 0)
    monkeypatch.setattr(side_by_side, "MIN_EVENTS", 0)
    monkeypatch.setattr(places, "CLAIMS_AT_A_TIME", 7)
    monkeypatch.setattr(kernel_work, "ROWS_AT_A_TIME", 13)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert analyze(trace, whole).to_json() == one_after_the_other


def test_the_cache_changes_no_byte(reference: str, tmp_path: Path) -> None:
    place = {"STALLSCOPE_CACHE_DIR": str(tmp_path / "cache")}
    filling = printed("-c", PROGRAM, "cached", *map(str, TRACES), **place)
    assert any((tmp_path / "cache").iterdir())
    filled = printed("-c", PROGRAM, "cached", *map(str, TRACES), **place)
    assert filling == filled == reference


def test_the_folder_of_a_file_changes_no_byte(reference: str, tmp_path: Path) -> None:
    moved = []
    for path in reversed(TRACES):
        folder = tmp_path / f"at {len(moved)}"
        folder.mkdir()
        moved.insert(0, folder / path.name)
        moved[0].write_bytes(path.read_bytes())
    assert printed("-c", PROGRAM, "fresh", *map(str, moved)) == reference


def analyzed(*arguments: str, **environment: str) -> str:
    return printed("-m", "stallscope", "analyze", "--no-cache", *arguments, **environment)


ELSEWHERE = {
    "TZ": "Pacific/Chatham",
    "PYTHONHASHSEED": "4711",
    "POLARS_MAX_THREADS": "1",
    "STALLSCOPE_PURE": "1",
}


def test_every_report_is_the_same_elsewhere(tmp_path: Path, comma: dict[str, str]) -> None:
    """All formats through the command line, with everything different at once."""
    suffixes = sorted({known.suffix for known in FORMATS})
    written = []
    for folder, environment in ((tmp_path / "here", {}), (tmp_path / "elsewhere", {**ELSEWHERE, **comma})):
        folder.mkdir()
        outputs = [part for suffix in suffixes for part in ("-o", str(folder / f"report{suffix}"))]
        analyzed(str(TRACES[1]), *outputs, **environment)
        written.append({file.name: file.read_bytes() for file in folder.iterdir()})
    assert len(written[0]) == len(suffixes) >= 7
    assert all(len(content) > 200 for content in written[0].values())
    assert written[0] == written[1]


def test_ranks_say_the_same_in_every_run() -> None:
    files = [str(path) for path in RANKS]
    assert analyzed(*files, "--format", "json") == analyzed(*files, "--format", "json", **ELSEWHERE)


def test_files_of_a_folder_are_ranks_by_name(tmp_path: Path) -> None:
    for number, path in ((10, RANKS[0]), (9, RANKS[1]), (1, RANKS[2])):
        (tmp_path / f"rank{number}.sqlite").write_bytes(path.read_bytes())
    assert [path.stem for path in rank_files([tmp_path])] == ["rank1", "rank9", "rank10"]
