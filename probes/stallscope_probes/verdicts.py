"""What stallscope said about a labelled capture, against what was put into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from stallscope.model.analysis import UNATTRIBUTED, Analysis


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """Truth about one capture. `may` are ids that are true of it but small or dependent on the machine."""

    file: str
    family: str
    variant: str
    role: str
    expect: tuple[str, ...]
    must_not: tuple[str, ...]
    may: tuple[str, ...] = ()
    fix: str | None = None
    repeats: int = 0


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a report named: `alarms` are findings above a note, `notes` the others; shares of the window by id.

    `beside` are the ids of waits behind a busy device, which no ledger charges.
    """

    file: str
    alarms: dict[str, float]
    notes: dict[str, float]
    unattributed_of_idle: float
    recoverable_ns: dict[str, tuple[int, int]]
    wait_ns: dict[str, int] = {}
    beside: frozenset[str] = frozenset()

    @property
    def named(self) -> frozenset[str]:
        """Every id the report shows."""
        return frozenset(self.alarms) | frozenset(self.notes)


class IdScore(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of one id over all captures."""

    wait: str
    found: int
    missed: int
    false_alarms: int

    @property
    def precision(self) -> float:
        """Share of the times it was named in which it was there."""
        named = self.found + self.false_alarms
        return self.found / named if named else 0.0

    @property
    def recall(self) -> float:
        """Share of the captures it was put into in which it was named."""
        there = self.found + self.missed
        return self.found / there if there else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of both; 0 for an id that was only ever named wrongly."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def analyze_file(path: Path) -> Analysis:
    """The report that a user would get, without the cache."""
    from stallscope.api import analyze_trace
    from stallscope.ingest.open import OpenOptions, open_trace

    return analyze_trace(open_trace(path, OpenOptions(use_cache=False)))


def verdict_of(file: str, analysis: Analysis) -> Verdict:
    """Reduce a report to what is scored."""
    alarms: dict[str, float] = {}
    notes: dict[str, float] = {}
    recoverable: dict[str, tuple[int, int]] = {}
    waits: dict[str, int] = {}
    for finding in analysis.findings:
        side = notes if finding.severity == "note" else alarms
        side[finding.wait] = round(side.get(finding.wait, 0.0) + finding.share, 6)
        waits[finding.wait] = waits.get(finding.wait, 0) + finding.wait_ns
        low, high = recoverable.get(finding.wait, (0, 0))
        recoverable[finding.wait] = (low + finding.recoverable_ns.low, high + finding.recoverable_ns.high)
    idle = sum(device.idle_ns for device in analysis.devices)
    unattributed = sum(device.ledger.get(UNATTRIBUTED, 0) for device in analysis.devices)
    return Verdict(
        file=file,
        alarms=alarms,
        notes=notes,
        unattributed_of_idle=round(unattributed / idle, 6) if idle else 0.0,
        recoverable_ns=recoverable,
        wait_ns=waits,
        beside=frozenset(finding.wait for finding in analysis.findings if not finding.ledger),
    )


def missed(label: Label, verdict: Verdict) -> tuple[str, ...]:
    """Ids that were put in and not named."""
    return tuple(wait for wait in label.expect if wait not in verdict.named)


def false_alarms(label: Label, verdict: Verdict) -> tuple[str, ...]:
    """Ids that were named and neither put in nor allowed; `env.*` and `ok.*` explain and accuse nobody."""
    allowed = {*label.expect, *label.may}
    return tuple(
        wait for wait in sorted(verdict.alarms) if wait not in allowed and not wait.startswith(("env.", "ok."))
    )


def scores(pairs: Iterable[tuple[Label, Verdict]]) -> tuple[IdScore, ...]:
    """One row an id that was put in somewhere or named wrongly somewhere."""
    found: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for label, verdict in pairs:
        gone = missed(label, verdict)
        lost.update(gone)
        found.update(wait for wait in label.expect if wait not in gone)
        wrong.update(false_alarms(label, verdict))
    waits = sorted({*found, *lost, *wrong})
    return tuple(IdScore(wait=wait, found=found[wait], missed=lost[wait], false_alarms=wrong[wait]) for wait in waits)


def macro_f1(rows: Iterable[IdScore]) -> float:
    """Mean F1 over ids."""
    values = [row.f1 for row in rows]
    return sum(values) / len(values) if values else 0.0


def confusions(pairs: Iterable[tuple[Label, Verdict]]) -> Mapping[tuple[str, str], int]:
    """How often an id that was put in was missed while another was named wrongly in its place."""
    counts: Counter[tuple[str, str]] = Counter()
    for label, verdict in pairs:
        for wait in missed(label, verdict):
            counts.update((wait, other) for other in false_alarms(label, verdict) or ("nothing",))
    return dict(counts)


def decoy_alarms(pairs: Iterable[tuple[Label, Verdict]]) -> tuple[tuple[str, str], ...]:
    """(file, id) of every decoy that set off a label of its family, which it was built to resemble."""
    known = list(pairs)
    labels: dict[str, set[str]] = {}
    for label, _ in known:
        labels.setdefault(label.family, set()).update(label.expect if label.role == "bad" else ())
    return tuple(
        (label.file, wait)
        for label, verdict in known
        if label.role == "decoy"
        for wait in sorted(verdict.alarms)
        if wait in label.must_not and wait in labels[label.family]
    )
