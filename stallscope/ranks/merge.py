"""The analyses of all ranks as one document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from stallscope.model.analysis import Analysis, Capture, CaptureNote, DeviceLedger, KernelCauses, Step
from stallscope.model.findings import Check, Finding
from stallscope.ranks.merge_findings import merge_findings, places_of
from stallscope.ranks.merge_workload import merge_workloads
from stallscope.waits.ranks.base import EXPOSED, RankSummary, listed
from stallscope.waits.ranks.peer_wait import WAIT as PEER_WAIT
from stallscope.waits.ranks.runner import CrossDiagnosis

Collected = Literal["yes", "no", "unknown", "node", "graph", "none"]


@dataclass(frozen=True, slots=True)
class Ranked:
    """One rank's analysis under its number, with the summaries of its devices."""

    rank: int
    analysis: Analysis
    summaries: tuple[RankSummary, ...]


def merged(
    ranked: Sequence[Ranked], cross: CrossDiagnosis, notes: tuple[CaptureNote, ...], *, everything: bool
) -> Analysis:
    """One analysis: all ledgers, findings grouped by wait, checks and notes with the ranks they hold for."""
    moved = _moved(ranked, cross)
    ledgers = {rank.rank: _ledgers(rank, moved) for rank in ranked}
    findings = merge_findings({r.rank: r.analysis for r in ranked}, ledgers, everything=everything)
    compared = [_located(finding, ranked, cross) for finding in cross.findings]
    together = sorted((*findings, *compared), key=lambda f: (-f.recoverable_ns.high, -f.wait_ns, f.wait))
    first = ranked[0].analysis
    return Analysis(
        tool=first.tool,
        sources=tuple(source for r in ranked for source in r.analysis.sources),
        capture=Capture(collected=_collected(ranked), notes=(*notes, *_notes(ranked))),
        devices=tuple(ledger for r in ranked for ledger in ledgers[r.rank]),
        steps=_steps(ranked),
        findings=tuple(together),
        checks=_checks(ranked, cross),
        kernels=_kernels(ranked),
        workload=merge_workloads([r.analysis.workload for r in ranked if r.analysis.workload is not None]),
    )


def _located(finding: Finding, ranked: Sequence[Ranked], cross: CrossDiagnosis) -> Finding:
    """A finding over ranks with the places where the ranks to blame wait."""
    owners = [rank for rank in ranked for _ in rank.summaries]
    places = [
        place
        for participant, wait in cross.traced.get(finding.wait, ())
        for own in owners[participant].analysis.findings
        if own.wait == wait
        for place in own.where
    ]
    return msgspec.structs.replace(finding, where=places_of(places)) if places else finding


def _moved(ranked: Sequence[Ranked], cross: CrossDiagnosis) -> dict[str, int]:
    """Exposed waiting by the report's device label."""
    labels = [summary.device for r in ranked for summary in r.summaries]
    return {labels[position]: waiting.total_ns() for position, waiting in cross.moved.items()}


def _ledgers(rank: Ranked, moved: dict[str, int]) -> tuple[DeviceLedger, ...]:
    """Ledgers under the rank's name, their exposed communication split into waiting and transfer."""
    labelled = ((ledger, moved.get(f"rank {rank.rank} {ledger.device}", 0)) for ledger in rank.analysis.devices)
    return tuple(msgspec.structs.replace(split_ledger(ledger, waiting), rank=rank.rank) for ledger, waiting in labelled)


def split_ledger(ledger: DeviceLedger, waiting_ns: int) -> DeviceLedger:
    """The ledger with the waiting part of its exposed communication under its own id."""
    account = dict(ledger.ledger)
    waiting = min(waiting_ns, account.get(EXPOSED, 0))
    if waiting:
        account[EXPOSED] -= waiting
        account[PEER_WAIT] = waiting
    kept = {wait: ns for wait, ns in sorted(account.items()) if ns or wait != EXPOSED}
    return msgspec.structs.replace(ledger, ledger=kept)


def _collected(ranked: Sequence[Ranked]) -> dict[str, Collected]:
    """What all ranks agree on; `unknown` where they do not."""
    found: dict[str, set[Collected]] = {}
    for key in sorted({key for r in ranked for key in r.analysis.capture.collected}):
        found[key] = {r.analysis.capture.collected.get(key, "unknown") for r in ranked}
    return {key: answers.pop() if len(answers) == 1 else "unknown" for key, answers in found.items()}


def _notes(ranked: Sequence[Ranked]) -> list[CaptureNote]:
    """Each note once, with the ranks it was made on (none are named where it is all of them)."""
    where: dict[tuple[str, str], list[str]] = {}
    for r in ranked:
        for note in r.analysis.capture.notes:
            where.setdefault((note.id, note.message), []).append(f"rank {r.rank}")
    return [
        CaptureNote(id=key[0], message=key[1] if len(labels) == len(ranked) else f"{listed(labels)}: {key[1]}")
        for key, labels in where.items()
    ]


def _steps(ranked: Sequence[Ranked]) -> tuple[Step, ...]:
    """The steps of the lowest rank that has any: ranks of one run take their steps together."""
    return next((r.analysis.steps for r in ranked if r.analysis.steps), ())


def _checks(ranked: Sequence[Ranked], cross: CrossDiagnosis) -> tuple[Check, ...]:
    """Per wait the strongest outcome of any rank; a rank that could not answer is named."""
    own = {check.wait for check in cross.checks}
    waits = dict.fromkeys(c.wait for r in ranked for c in r.analysis.checks if c.wait not in own)
    merged_checks = [_check(wait, ranked) for wait in waits]
    return tuple(sorted((*merged_checks, *cross.checks), key=lambda check: check.wait))


def _check(wait: str, ranked: Sequence[Ranked]) -> Check:
    given = [(r.rank, check) for r in ranked for check in r.analysis.checks if check.wait == wait]
    for outcome in ("found", "failed", "not_applicable"):
        reasons = Counter(check.reason for _, check in given if check.outcome == outcome)
        if reasons:
            reason = reasons.most_common(1)[0][0]
            labels = [f"rank {rank}" for rank, check in given if check.outcome == outcome]
            everywhere = len(labels) == len(ranked) or outcome == "found"
            return Check(wait=wait, outcome=outcome, reason=reason if everywhere else f"{listed(labels)}: {reason}")
    return given[0][1]


def _kernels(ranked: Sequence[Ranked]) -> tuple[KernelCauses, ...]:
    """In-kernel diagnoses come from one Nsight Compute report, whichever rank it was made on."""
    return next((r.analysis.kernels for r in ranked if r.analysis.kernels), ())
