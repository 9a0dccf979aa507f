"""Runs the rules on a timeline and turns what they claim into ledgers, findings and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from stallscope.model.analysis import DeviceLedger
from stallscope.model.collection import FLAGS, table_source
from stallscope.model.findings import Check, Finding
from stallscope.timeline.intervals import IntervalSet
from stallscope.timeline.side_by_side import derive, side_by_side
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Detection, Rule, UndecidableError, View
from stallscope.waits.busy import ok_time
from stallscope.waits.findings import finding_of, worth_telling
from stallscope.waits.ledger import Settlement, settle

Outcome = Literal["found", "clean", "not_applicable", "failed"]

GRAPH_REFUSAL = (
    "env.graph_level_trace: CUDA-graph replays are not in this trace, so idle time may be graph work; "
    "profile with --cuda-graph-trace=node, or use nsys 2024.1 or newer"
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Everything the rules concluded on one timeline."""

    ledgers: tuple[DeviceLedger, ...]
    findings: tuple[Finding, ...]
    checks: tuple[Check, ...]
    charges: Mapping[int, Mapping[str, IntervalSet]]


def diagnose(timeline: Timeline, rules: tuple[Rule, ...], *, everything: bool = False) -> Diagnosis:
    """Run every rule; one that lacks a table or breaks becomes a check and never costs the report.

    `everything` keeps findings below the reporting threshold.
    """
    derive(timeline, ("blocked",), ("stream_order",))  # what nearly every rule looks at
    outcomes = side_by_side(timeline, partial(_run, timeline), rules)
    results = {rule.meta.id: outcome for rule, outcome in zip(rules, outcomes, strict=True)}
    detections = {wait: result.detection for wait, result in results.items() if result.detection is not None}
    charged = {
        rule.meta.id: detections[rule.meta.id].claims
        for rule in rules
        if rule.meta.id in detections and rule.meta.layer not in ("beside", "note")
    }
    settlement = settle(timeline.windows, charged, ok_time(timeline), partial(side_by_side, timeline))
    detecting = [rule for rule in rules if rule.meta.id in detections]
    longest_first = sorted(detecting, key=lambda rule: -len(detections[rule.meta.id].claims))
    findings = [
        finding
        for finding in side_by_side(timeline, partial(_conclude, timeline, detections, settlement), longest_first)
        if finding is not None and (everything or worth_telling(finding, timeline))
    ]
    found = {finding.wait for finding in findings}
    return Diagnosis(
        ledgers=_ledgers(timeline, settlement),
        findings=tuple(sorted(findings, key=lambda f: (-f.recoverable_ns.high, -f.wait_ns, f.wait))),
        checks=tuple(
            Check(wait=wait, outcome="found" if wait in found else result.outcome, reason=result.reason)
            for wait, result in results.items()
        ),
        charges=settlement.charges,
    )


@dataclass(frozen=True, slots=True)
class _Result:
    outcome: Outcome
    reason: str = ""
    detection: Detection | None = None


def _run(timeline: Timeline, rule: Rule) -> _Result:
    missing = [table for table in rule.meta.needs if timeline.trace.table(table) is None]
    if missing:
        tables = (f"{table_source(timeline.trace, table)} not collected: {FLAGS[table]}" for table in missing)
        return _Result("not_applicable", "; ".join(tables))
    if rule.meta.layer == "idle" and timeline.hides_graphs:
        return _Result("not_applicable", GRAPH_REFUSAL)
    try:
        detection = rule.detect(View(timeline, rule.meta))
    except UndecidableError as undecidable:
        return _Result("not_applicable", str(undecidable))
    except Exception as error:  # noqa: BLE001 - the check names the broken rule, the other rules still answer
        return _Result("failed", f"{type(error).__name__}: {error}")
    return _Result("clean", detection.reason if detection else "", detection)


def _conclude(
    timeline: Timeline, detections: Mapping[str, Detection], settlement: Settlement, rule: Rule
) -> Finding | None:
    return finding_of(timeline, rule, detections[rule.meta.id], settlement)


def _ledgers(timeline: Timeline, settlement: Settlement) -> tuple[DeviceLedger, ...]:
    ledgers = []
    for window in timeline.windows:
        device = timeline.trace.devices[window.device]
        busy = int(window.busy.covered(window.window.starts, window.window.ends).sum())
        ledgers.append(
            DeviceLedger(
                device=device.label,
                uuid=device.uuid,
                name=device.name,
                window_ns=window.window_ns,
                busy_ns=busy,
                idle_ns=window.window_ns - busy,
                ledger=dict(sorted(settlement.ledgers[window.device].items())),
                start_ns=int(window.window.starts[0]),
                rank=timeline.trace.source.rank,
            )
        )
    return tuple(ledgers)
