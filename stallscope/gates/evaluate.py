"""Compares an analysis with budgets. A gate that the data cannot decide is inconclusive, never green."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, get_args

from stallscope.gates.budgets import IDLE, Budget
from stallscope.model.analysis import Analysis
from stallscope.model.findings import Check, EvidenceLevel, Finding
from stallscope.model.units import duration, share

State = Literal["pass", "fail", "inconclusive"]
GRAPH_LEVEL_TRACE = "env.graph_level_trace"

_LEVELS: tuple[str, ...] = get_args(EvidenceLevel)


@dataclass(frozen=True, slots=True)
class Measured:
    """Bounds of the time under a budget, ns. They differ where the report lists only part of the places."""

    low_ns: float
    high_ns: float
    blind: str = ""


@dataclass(frozen=True, slots=True)
class GateResult:
    """Verdict of one budget. `value` is in the unit of its limit (ns or share); `reason` is one sentence."""

    budget: Budget
    state: State
    value: float
    reason: str

    @property
    def shown(self) -> str:
        """The measured value as text."""
        return duration(self.value) if self.budget.limit.kind == "ns" else share(self.value)


def evaluate(analysis: Analysis, budgets: Iterable[Budget]) -> tuple[GateResult, ...]:
    """One result a budget, in the order of the budgets."""
    return tuple(_judge(analysis, budget) for budget in budgets)


def exit_code(results: Sequence[GateResult], *, strict: bool = False) -> int:
    """1 when a budget is exceeded; 5 when one cannot be decided and `strict` asks for certainty; else 0."""
    states = {result.state for result in results}
    if "fail" in states:
        return 1
    return 5 if strict and "inconclusive" in states else 0


def _judge(analysis: Analysis, budget: Budget) -> GateResult:
    measured = _measure(analysis, budget)
    scale, missing = _scale(analysis, budget)
    if scale <= 0:
        return GateResult(budget=budget, state="inconclusive", value=0.0, reason=missing)
    low, high = measured.low_ns / scale, measured.high_ns / scale
    if low > budget.limit.value:
        return GateResult(budget=budget, state="fail", value=low, reason=_excess(budget, low, scale))
    if measured.blind:
        return GateResult(budget=budget, state="inconclusive", value=low, reason=measured.blind)
    if high > budget.limit.value:
        reason = f"between {_text(budget, low)} and {_text(budget, high)}: {_open_end(budget)}"
        return GateResult(budget=budget, state="inconclusive", value=low, reason=reason)
    return GateResult(budget=budget, state="pass", value=high, reason="within budget")


def _scale(analysis: Analysis, budget: Budget) -> tuple[float, str]:
    """What the nanoseconds are divided by: steps, device windows, both or nothing."""
    scale = 1.0
    if budget.limit.kind == "share":
        scale *= sum(device.window_ns for device in analysis.devices)
        if not scale:
            return 0, "the report holds no device timeline, so there is no window to take a share of"
    elif budget.per:
        scale *= sum(len(step.durations_ns) for step in analysis.steps if step.name == budget.per)
        if not scale:
            return 0, f"the report holds no step named {budget.per}"
    return scale, ""


def _measure(analysis: Analysis, budget: Budget) -> Measured:
    if budget.wait == IDLE:
        idle_ns = sum(device.idle_ns for device in analysis.devices)
        return Measured(idle_ns, idle_ns, _graph_blindness(analysis))
    waits = [wait for wait in known_waits(analysis) if fnmatchcase(wait, budget.wait)]
    if not waits:
        return Measured(0, 0, _unknown(analysis, budget))
    findings = [finding for finding in analysis.findings if finding.wait in waits]
    total_ns = sum(_total_ns(analysis, wait) for wait in waits)
    sure = [finding for finding in findings if _LEVELS.index(finding.evidence_level) >= _LEVELS.index(budget.evidence)]
    blind = _blindness(analysis, waits)
    if budget.nvtx is None:
        unsure_ns = sum(finding.wait_ns for finding in findings if finding not in sure)
        return Measured(max(0, total_ns - unsure_ns), total_ns, blind)
    if analysis.capture.collected.get("nvtx") == "no":
        return Measured(0, total_ns, f"NVTX was not collected, so nothing lies inside {budget.nvtx}: add --trace=nvtx")
    inside_ns = _inside_ns(sure, budget.nvtx)
    elsewhere_ns = sum(place.wait_ns for f in findings for place in f.where) - _inside_ns(findings, budget.nvtx)
    return Measured(inside_ns, max(inside_ns, total_ns - elsewhere_ns), blind)


def known_waits(analysis: Analysis) -> list[str]:
    """Every id that the report says something about."""
    ids = {check.wait for check in analysis.checks} | {finding.wait for finding in analysis.findings}
    ids |= {wait for device in analysis.devices for wait in device.ledger}
    return sorted(ids | {kernel.cause for kernel in analysis.kernels})


def _total_ns(analysis: Analysis, wait: str) -> int:
    """Ledger time plus time beside the ledger; for in-kernel causes known from counters only, the kernels' time."""
    charged = sum(device.ledger.get(wait, 0) for device in analysis.devices)
    own = [finding for finding in analysis.findings if finding.wait == wait]
    beside = sum(finding.wait_ns for finding in own if not finding.ledger or not charged)
    kernels = sum(kernel.time_ns for kernel in analysis.kernels if kernel.cause == wait)
    return charged + beside or kernels


def _inside_ns(findings: Iterable[Finding], nvtx: str) -> int:
    return sum(
        place.wait_ns
        for finding in findings
        for place in finding.where
        if any(fnmatchcase(name, nvtx) for name in place.nvtx)
    )


def _blindness(analysis: Analysis, waits: Sequence[str]) -> str:
    """Why the report cannot vouch for these waits; empty when every rule looked."""
    blind = [
        check for check in analysis.checks if check.wait in waits and check.outcome in {"not_applicable", "failed"}
    ]
    return "; ".join(_blind_reason(check) for check in blind)


def _blind_reason(check: Check) -> str:
    said = f": {check.reason}" if check.reason else ""
    return f"{check.wait} {'was not checked' if check.outcome == 'not_applicable' else 'rule failed'}{said}"


def _graph_blindness(analysis: Analysis) -> str:
    notes = [note.message for note in analysis.capture.notes if note.id == GRAPH_LEVEL_TRACE]
    return notes[0] if notes else ""


def _unknown(analysis: Analysis, budget: Budget) -> str:
    near = difflib.get_close_matches(budget.wait, known_waits(analysis), n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"the report says nothing about {budget.wait}{hint}"


def _open_end(budget: Budget) -> str:
    if budget.nvtx:
        return f"the report does not list every place, so some of it may lie outside {budget.nvtx}"
    return f"part of it is not yet {budget.evidence}"


def _excess(budget: Budget, value: float, scale: float) -> str:
    return f"{_text(budget, value)} is over by {_text(budget, value - budget.limit.value)}" + (
        f" ({duration(value * scale)})" if budget.limit.kind == "share" else ""
    )


def _text(budget: Budget, value: float) -> str:
    return duration(value) if budget.limit.kind == "ns" else share(value)
