"""Runs the rules over ranks; a broken one becomes a check and never costs the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from stallscope.model.findings import Check, Finding
from stallscope.timeline.intervals import IntervalSet
from stallscope.waits.ranks import bandwidth, order, peer_wait
from stallscope.waits.ranks.base import RankOutcome, Ranks

RULES: dict[str, Callable[..., RankOutcome]] = {
    peer_wait.WAIT: peer_wait.detect,
    order.WAIT: order.detect,
    bandwidth.WAIT: bandwidth.detect,
}


@dataclass(frozen=True, slots=True)
class CrossDiagnosis:
    """What the comparison of ranks added.

    `moved[p]` of participant p's `comm.exposed` is `comm.peer_wait`; `traced[id]` names the participants to blame in
    the finding of that id, each with its own wait that explains it.
    """

    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    moved: dict[int, IntervalSet]
    traced: dict[str, tuple[tuple[int, str], ...]]


def compare(ranks: Ranks, *, everything: bool = False, link_bytes_per_s: float | None = None) -> CrossDiagnosis:
    """All findings that need several ranks."""
    findings: list[Finding] = []
    checks: list[Check] = []
    moved: dict[int, IntervalSet] = {}
    traced: dict[str, tuple[tuple[int, str], ...]] = {}
    for wait, detect in RULES.items():
        calibrated = partial(detect, link_bytes_per_s=link_bytes_per_s) if wait == bandwidth.WAIT else detect
        outcome = _run(wait, partial(calibrated, ranks, everything=everything))
        findings.extend(outcome.findings)
        checks.extend(outcome.checks)
        moved.update(outcome.moved)
        traced[wait] = outcome.traced
    return CrossDiagnosis(tuple(findings), tuple(checks), moved, traced)


def _run(wait: str, rule: Callable[[], RankOutcome]) -> RankOutcome:
    try:
        return rule()
    except Exception as error:  # noqa: BLE001 - the check names the broken rule, the others still answer
        reason = f"{type(error).__name__}: {error}"
        return RankOutcome((Check(wait=wait, outcome="failed", reason=reason),))
