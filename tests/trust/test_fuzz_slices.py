"""A slice of each fuzz campaign, and every input that once got a wrong answer."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import mutate_folder
import mutate_kineto
import mutate_ncu_rep
import mutate_sqlite
import pytest
from fuzz_oracle import counters_answer, nothing_written_outside, trace_answer
from ncu_mutations import mutate as mutate_counters

SEEDS = Path(__file__).parent / "seeds"
TEMPLATES = 48
PAGE_BYTES = (512, 1024, 4096)
FIRST = 200_000
"""Campaigns run from 0; the slice here is of other inputs."""


def once_wrong(reader: str) -> list[int]:
    return [int(line) for line in (SEEDS / f"{reader}.txt").read_text("ascii").split()]


def sqlite_answer(number: int, folder: Path, depth: int) -> str:
    seed = number % TEMPLATES
    whole = mutate_sqlite.write_template(seed, folder / "template.sqlite", PAGE_BYTES[seed % 3])
    return trace_answer(mutate_sqlite.mutate(whole, number, folder / "t.sqlite"), depth=depth)


def folder_answer(number: int, folder: Path, suffix: str, depth: int) -> str:
    tables = mutate_folder.template_tables(number % TEMPLATES, folder / "template.sqlite")
    export = folder / "export"
    shutil.rmtree(export, ignore_errors=True)
    export.mkdir()
    return trace_answer(mutate_folder.mutate(tables, number, export, suffix), depth=depth)


def kineto_answer(number: int, folder: Path, depth: int) -> str:
    path = folder / "t.json"
    path.write_bytes(mutate_kineto.mutate(mutate_kineto.template(number % 24), number))
    return trace_answer(path, depth=depth)


@pytest.mark.parametrize("number", once_wrong("sqlite"))
def test_sqlite_inputs_that_were_wrong_once(number: int, tmp_path: Path) -> None:
    sqlite_answer(number, tmp_path, 2)


@pytest.mark.parametrize(
    ("suffix", "number"), [(f".{kind}", number) for kind in ("parquet", "arrow") for number in once_wrong(kind)]
)
def test_folder_inputs_that_were_wrong_once(suffix: str, number: int, tmp_path: Path) -> None:
    folder_answer(number, tmp_path, suffix, 2)


def test_sqlite_slice(tmp_path: Path) -> None:
    answers = {sqlite_answer(FIRST + number, tmp_path, number % 3) for number in range(60)}
    assert {"read", "refused"} <= answers


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_folder_slice(suffix: str, tmp_path: Path) -> None:
    answers = {folder_answer(FIRST + number, tmp_path, suffix, number % 3) for number in range(30)}
    assert {"read", "refused"} <= answers


def test_kineto_slice(tmp_path: Path) -> None:
    answers = {kineto_answer(FIRST + number, tmp_path, number % 3) for number in range(120)}
    assert {"read", "refused"} <= answers


def test_counters_slice(repository: Path) -> None:
    import gzip

    files = sorted((repository / "tests" / "data" / "ncu").glob("*.csv.gz"))
    pages = [gzip.decompress(file.read_bytes())[:60_000] for file in files]
    answers = {counters_answer(mutate_counters(pages[n % len(pages)], FIRST + n)) for n in range(200)}
    assert answers == {"read", "refused"}


def test_report_slice() -> None:
    numbers = range(FIRST, FIRST + 600)
    answers = {
        counters_answer(mutate_ncu_rep.mutate(mutate_ncu_rep.template(n % TEMPLATES), n), "ncu-rep") for n in numbers
    }
    assert answers == {"read", "refused"}


def test_nothing_is_written_outside_the_folder(tmp_path: Path) -> None:
    with nothing_written_outside(tmp_path) as written:
        for number in range(8):
            sqlite_answer(FIRST + number, tmp_path, 2)
            kineto_answer(FIRST + number, tmp_path, 2)
    assert written == []


def test_the_watch_sees_a_file_written_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    with nothing_written_outside(tmp_path / "inside") as written:
        (tmp_path / "outside").write_text("x")
    assert len(written) == 1
    assert written[0].endswith("outside")


def test_no_warning_reaches_the_user(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(10):
            sqlite_answer(FIRST + 500 + number, tmp_path, 1)
