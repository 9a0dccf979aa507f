"""Scores stallscope on a folder of labelled captures; the figures as they came out, failures included."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

import stallscope
from stallscope.errors import InputError
from stallscope_probes.catalogue import discover
from stallscope_probes.gains import Gain, gain
from stallscope_probes.gatekeeping import ResultVerdict, judge_results
from stallscope_probes.samples import MANIFEST, Expected, load_expected
from stallscope_probes.verdicts import (
    IdScore,
    Label,
    Verdict,
    analyze_file,
    confusions,
    decoy_alarms,
    false_alarms,
    macro_f1,
    missed,
    scores,
    verdict_of,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILE = "scoreboard.json"


class CaptureRow(msgspec.Struct, frozen=True, kw_only=True):
    """One capture: what was put in, what was named, and the difference."""

    file: str
    role: str
    expect: tuple[str, ...]
    alarms: dict[str, float]
    notes: dict[str, float]
    missed: tuple[str, ...]
    false_alarms: tuple[str, ...]
    unattributed_of_idle: float


class IdRow(msgspec.Struct, frozen=True, kw_only=True):
    """One id over all captures."""

    wait: str
    found: int
    missed: int
    false_alarms: int
    precision: float
    recall: float
    f1: float


class Confusion(msgspec.Struct, frozen=True, kw_only=True):
    """`expected` was missed while `named` was named wrongly (`nothing`: no finding at all)."""

    expected: str
    named: str
    times: int


class DecoyAlarm(msgspec.Struct, frozen=True, kw_only=True):
    """A decoy that set off an id it was built to resemble."""

    file: str
    wait: str


class Scoreboard(msgspec.Struct, frozen=True, kw_only=True):
    """The whole score. Device, driver and versions are those of the captures."""

    stallscope: str
    provenance: dict[str, str]
    families: int
    variants: int
    macro_f1: float
    largest_unattributed_of_idle: float
    gains_contained: int
    gains_measured: int
    median_width: float
    ids: tuple[IdRow, ...]
    decoy_alarms: tuple[DecoyAlarm, ...]
    confusions: tuple[Confusion, ...]
    captures: tuple[CaptureRow, ...]
    gains: tuple[Gain, ...]
    results: tuple[ResultVerdict, ...]
    not_run: tuple[str, ...]

    def to_json(self) -> str:
        """The same score gives the same bytes."""
        return msgspec.json.format(msgspec.json.encode(self, order="deterministic"), indent=1).decode() + "\n"


def score(samples: Path, progress: Callable[[str], None] = lambda _: None) -> Scoreboard:
    """Analyze every capture of the folder and compare. Raises `InputError` when there is none."""
    families = load_expected(samples)
    pairs: list[tuple[Label, Verdict]] = []
    for expected in families:
        progress(expected.family)
        pairs += [
            (label, verdict_of(label.file, analyze_file(samples / label.file)))
            for label in expected.captures
            if (samples / label.file).is_file()
        ]
    if not pairs:
        raise InputError(
            "no labelled capture in this folder",
            file=samples.name,
            next_step="stallscope probe capture makes them; give the folder that holds <family>/expected.json",
        )
    rows = scores(pairs)
    gains = _gains(families, pairs)
    return Scoreboard(
        stallscope=stallscope.__version__,
        provenance=_provenance(samples),
        families=len({label.family for label, _ in pairs}),
        variants=len(pairs),
        macro_f1=round(macro_f1(rows), 4),
        largest_unattributed_of_idle=max(verdict.unattributed_of_idle for _, verdict in pairs),
        gains_contained=sum(row.contained for row in gains),
        gains_measured=len(gains),
        median_width=_median_width(gains),
        ids=tuple(id_row(row) for row in rows),
        decoy_alarms=tuple(DecoyAlarm(file=file, wait=wait) for file, wait in decoy_alarms(pairs)),
        confusions=tuple(
            Confusion(expected=expected, named=named, times=times)
            for (expected, named), times in sorted(confusions(pairs).items())
        ),
        captures=tuple(capture_row(label, verdict) for label, verdict in pairs),
        gains=gains,
        results=tuple(row for expected in families for row in judge_results(samples, expected)),
        not_run=_not_run(families),
    )


def id_row(row: IdScore) -> IdRow:
    """One id's line of the score."""
    return IdRow(
        wait=row.wait,
        found=row.found,
        missed=row.missed,
        false_alarms=row.false_alarms,
        precision=round(row.precision, 4),
        recall=round(row.recall, 4),
        f1=round(row.f1, 4),
    )


def capture_row(label: Label, verdict: Verdict) -> CaptureRow:
    """One capture's line of the score."""
    return CaptureRow(
        file=label.file,
        role=label.role,
        expect=label.expect,
        alarms=verdict.alarms,
        notes=verdict.notes,
        missed=missed(label, verdict),
        false_alarms=false_alarms(label, verdict),
        unattributed_of_idle=verdict.unattributed_of_idle,
    )


def _gains(families: tuple[Expected, ...], pairs: list[tuple[Label, Verdict]]) -> tuple[Gain, ...]:
    known = {(label.family, label.variant): (label, verdict) for label, verdict in pairs}
    notes = {(family.name, variant.name): variant.gain_note for family in discover() for variant in family.variants}
    found = []
    for expected in families:
        for timing in expected.timings:
            key = (timing.family, timing.bad)
            if key in known and known[key][0].fix == timing.fixed:
                found.append(gain(*known[key], timing, notes.get(key, "")))
    return tuple(found)


def _median_width(gains: tuple[Gain, ...]) -> float:
    widths = [row.width for row in gains if row.width is not None]
    return round(median(widths), 4) if widths else 0.0


def _not_run(families: tuple[Expected, ...]) -> tuple[str, ...]:
    there = {(row.family, row.variant) for expected in families for row in expected.captures}
    there |= {(row.family, row.variant) for expected in families for row in expected.results}
    return tuple(
        f"{family.name}/{variant.name}"
        for family in discover()
        for variant in family.variants
        if (family.name, variant.name) not in there
    )


def _provenance(samples: Path) -> dict[str, str]:
    path = samples / MANIFEST
    if not path.is_file():
        return {}
    manifest: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    captured: dict[str, str] = manifest.get("capture", {}).get("probes", {})
    return captured
