"""The folder of labelled captures: `<family>/<variant>.sqlite`, `<family>/expected.json`, a part of MANIFEST.toml."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stallscope_probes.catalogue import discover
from stallscope_probes.contract import Family, Variant
from stallscope_probes.gains import Timing
from stallscope_probes.verdicts import Label

EXPECTED = "expected.json"
MANIFEST = "MANIFEST.toml"
MARK = "# What follows is written by `stallscope probe capture`; see docs/probes.md."


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Truth about one run whose output is judged, not its timeline. `refusal` is the driver's word, if it refused."""

    file: str
    family: str
    variant: str
    role: str
    expect: tuple[str, ...]
    must_not: tuple[str, ...]
    refusal: str = ""


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about one family: labels of its captures and results, and the timings of its repairs."""

    family: str
    title: str
    captures: tuple[Label, ...] = ()
    results: tuple[Result, ...] = ()
    timings: tuple[Timing, ...] = ()


@dataclass(frozen=True)
class Provenance:
    """What the captures were made with, for the manifest."""

    gpu: str
    driver: str
    cuda: str
    torch: str
    nsys: str
    date: str
    command: str


def label_of(family: Family, variant: Variant, repeats: int) -> Label:
    """The label of the capture of one variant."""
    return Label(
        file=f"{family.name}/{variant.name}.sqlite",
        family=family.name,
        variant=variant.name,
        role=variant.role,
        expect=variant.expect,
        must_not=variant.must_not,
        may=variant.may,
        fix=variant.fix,
        repeats=repeats,
    )


def result_of(family: Family, variant: Variant, refusal: str) -> Result:
    """The label of the kept output of one variant."""
    return Result(
        file=f"{family.name}/{variant.name}.npz" if family.numerics != "differs" else "",
        family=family.name,
        variant=variant.name,
        role=variant.role,
        expect=variant.expect,
        must_not=variant.must_not,
        refusal=refusal,
    )


def load_expected(samples: Path) -> tuple[Expected, ...]:
    """Every family of the folder, by name. Raises `msgspec.ValidationError` when a file is not one of these."""
    return tuple(
        msgspec.json.decode(path.read_bytes(), type=Expected) for path in sorted(samples.glob(f"*/{EXPECTED}"))
    )


def write_expected(samples: Path, records: Iterable[Mapping[str, Any]], timings: Iterable[Timing]) -> None:
    """Write `expected.json` of every family that has a record, from the families' own labels."""
    ran = {(record["family"], record["variant"]): record for record in records if record["status"] == "ok"}
    timed = [timing for timing in timings if timing.status == "ok"]
    for family in discover():
        variants = [variant for variant in family.variants if (family.name, variant.name) in ran]
        if not variants:
            continue
        traced = family.collect != "nothing"
        rows = [(variant, ran[family.name, variant.name]) for variant in variants]
        expected = Expected(
            family=family.name,
            title=family.title,
            captures=tuple(label_of(family, variant, row["repeats"]) for variant, row in rows if traced),
            results=tuple(result_of(family, variant, row["refusal"]) for variant, row in rows if not traced),
            timings=tuple(timing for timing in timed if timing.family == family.name),
        )
        target = samples / family.name / EXPECTED
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(msgspec.json.format(msgspec.json.encode(expected), indent=1) + b"\n")


def write_manifest(samples: Path, provenance: Provenance) -> None:
    """Replace the probes' part of MANIFEST.toml; what stands before it stays."""
    path = samples / MANIFEST
    before = path.read_text(encoding="utf-8").partition(MARK)[0].rstrip() if path.is_file() else ""
    tables = ["\n".join(["[capture.probes]", *_pairs(vars(provenance))])]
    tables.extend("\n".join(["[[probe]]", *_pairs(entry)]) for entry in _entries(samples))
    part = path.with_suffix(".part")
    part.write_text("\n\n".join([before, MARK, *tables]).lstrip() + "\n", encoding="utf-8")
    part.replace(path)


def _entries(samples: Path) -> Iterator[dict[str, Any]]:
    for expected in load_expected(samples):
        labels: tuple[Label | Result, ...] = (*expected.captures, *expected.results)
        for label in labels:
            for file in _files(samples, label.file):
                yield {
                    "file": file,
                    "sha256": hashlib.sha256((samples / file).read_bytes()).hexdigest(),
                    "capture": "probes",
                    "role": label.role,
                    "expect": list(label.expect),
                    "must_not": list(label.must_not),
                }


def _files(samples: Path, file: str) -> Iterator[str]:
    """The capture itself, and the report it was cut from or made like, where that is kept beside it."""
    for name in (file, f"{file.removesuffix('.sqlite')}.nsys-rep") if file else ():
        if (samples / name).is_file():
            yield name


def _pairs(values: Mapping[str, Any]) -> Iterator[str]:
    """TOML of strings and lists of strings, whose syntax JSON shares."""
    for key, value in values.items():
        yield f"{key} = {json.dumps(value, ensure_ascii=False)}"


def move_in(made: Path, samples: Path) -> None:
    """Put freshly made families in place of the old ones, each folder whole."""
    for folder in sorted(path for path in made.iterdir() if path.is_dir()):
        target = samples / folder.name
        if target.exists():
            shutil.rmtree(target)
        shutil.move(str(folder), str(target))
