from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from stallscope.compiled import load, source_tag

CC = shutil.which("cc") or shutil.which("gcc")


def built(folder: Path, source: str) -> Path:
    (folder / "adds.c").write_text(source, encoding="utf-8")
    library = folder / f"_adds.{source_tag(folder)}.so"
    subprocess.run([str(CC), "-shared", "-fPIC", "-o", str(library), str(folder / "adds.c")], check=True)
    return library


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_library_of_other_sources_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STALLSCOPE_PURE", raising=False)
    built(tmp_path, "int add(int a, int b) { return a + b; }\n")
    library = load(tmp_path, "_adds")
    assert library is not None
    assert library.add(2, 3) == 5
    (tmp_path / "adds.c").write_text("int add(int a) { return a; }\n", encoding="utf-8")
    assert load(tmp_path, "_adds") is None


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_compiled_loops_can_be_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built(tmp_path, "int add(int a, int b) { return a + b; }\n")
    monkeypatch.setenv("STALLSCOPE_PURE", "1")
    assert load(tmp_path, "_adds") is None


def test_damaged_library_is_no_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STALLSCOPE_PURE", raising=False)
    (tmp_path / f"_adds.{source_tag(tmp_path)}.so").write_bytes(b"no library")
    assert load(tmp_path, "_adds") is None


def test_tag_follows_names_in_order_and_contents(tmp_path: Path) -> None:
    empty = source_tag(tmp_path)
    (tmp_path / "a.c").write_bytes(b"1")
    (tmp_path / "b.h").write_bytes(b"2")
    both = source_tag(tmp_path)
    (tmp_path / "notes.txt").write_bytes(b"3")
    assert (empty, source_tag(tmp_path)) == ("00000000", both)
    assert both != empty
