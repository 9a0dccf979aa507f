"""The committed profiles are the ones the manifest describes, and each of its kernels gets an accepted id first."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).resolve().parents[2] / "sample_traces" / "ncu"
MANIFEST: dict[str, Any] = tomllib.loads((FOLDER / "MANIFEST.toml").read_text())
MAX_BYTES = 3 << 20


@pytest.mark.parametrize("entry", MANIFEST["profile"], ids=lambda entry: entry["file"])
def test_the_bytes_are_unchanged(entry: dict[str, str]) -> None:
    assert hashlib.sha256((FOLDER / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]


def test_nothing_is_missing_and_all_of_it_is_small() -> None:
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()} - {"MANIFEST.toml"}
    assert files == {entry["file"] for entry in MANIFEST["profile"]}
    assert sum((FOLDER / name).stat().st_size for name in files) < MAX_BYTES


def test_every_pair_was_timed_often_enough_and_passed_its_gate() -> None:
    lines = [
        line
        for part in ("cuda", "triton")
        for line in (FOLDER / "pairs" / f"{part}.times.jsonl").read_text().splitlines()
    ]
    entries = {entry["pair"]: entry for entry in map(json.loads, lines)}
    assert entries.keys() == MANIFEST["expect"]["pairs"].keys()
    assert len(entries) >= 20
    for entry in entries.values():
        assert entry["valid"]
        assert min(len(entry["before_ns"]), len(entry["after_ns"])) >= 20


def test_the_scoreboard_is_the_one_of_these_pairs(repository: Path) -> None:
    stored = json.loads((repository / "benchmarks" / "kernels_scoreboard.json").read_text())
    assert {row["pair"]: row["expect"] for row in stored["pairs"]} == MANIFEST["expect"]["pairs"]
    held_out = [row for row in stored["pairs"] if row["held_out"]]
    assert 3 * len(held_out) == len(stored["pairs"])
    assert stored["scores"]["held_out"]["top1"] == sum(row["first"] for row in held_out)
