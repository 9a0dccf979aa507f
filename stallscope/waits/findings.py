"""From settled claims to a Finding a user can check."""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np

from stallscope.model.collection import table_source
from stallscope.model.experiments import Experiment, Prediction
from stallscope.model.findings import Evidence, Finding, Recoverable, Severity
from stallscope.timeline.intervals import Int64Array
from stallscope.timeline.rows import RowArray
from stallscope.timeline.timeline import Timeline
from stallscope.waits.base import Claims, Detection, Rule
from stallscope.waits.ledger import Settlement
from stallscope.waits.places import places, spans
from stallscope.waits.profiler_cost import profiler_part_ns

MIN_SHARE = 0.01
"""A finding below this share of its window is told only on request (or when it costs MIN_STEP_NS in every step)."""
MIN_STEP_NS = 1_000_000
ERROR_SHARE = 0.10


def finding_of(timeline: Timeline, rule: Rule, detection: Detection, settlement: Settlement) -> Finding | None:
    """The finding of one rule, or None when the ledger left it nothing."""
    charged = settlement.owned.get(rule.meta.id)
    owned = charged.owned_ns if charged else _uncharged(timeline, detection.claims)
    if detection.beside is not None:
        hidden = _uncharged(timeline, detection.beside.claims)
        if hidden.sum() > owned.sum():
            detection, owned, charged = detection.beside, hidden, None
    rows: RowArray = np.flatnonzero(owned > 0).astype(np.int32)
    if not len(rows):
        return None
    got = owned[rows]
    devices = np.unique(detection.claims.at(Claims.device, rows)).tolist()
    wait_ns = int(got.sum())
    share = wait_ns / sum(w.window_ns for w in timeline.windows if w.device in devices)
    profiled = profiler_part_ns(timeline, detection.claims, rows) if rule.meta.layer == "idle" else 0
    recoverable = _recoverable(rule, detection, got, profiled)
    return Finding(
        id=_stable_id(timeline, rule),
        wait=rule.meta.id,
        title=rule.meta.title,
        severity=_severity(rule, share),
        evidence_level=detection.level,
        devices=tuple(timeline.trace.devices[d].label for d in devices),
        count=len(rows),
        wait_ns=wait_ns,
        share=round(share, 6),
        recoverable_ns=recoverable,
        evidence=tuple(
            Evidence(label=f.label, value=f.value, unit=f.unit, source=table_source(timeline.trace, f.table))
            for f in (detection.facts(rows) if callable(detection.facts) else detection.facts)
        ),
        where=places(timeline, detection.claims, rows, got),
        spans=spans(detection.claims, rows, got),
        experiments=tuple(_with_expectation(rule, recoverable)),
        caveats=detection.caveats,
        docs=rule.meta.docs,
        ledger=charged is not None,
    )


def worth_telling(finding: Finding, timeline: Timeline) -> bool:
    """At least 1 % of the window, or 1 ms in every NVTX step."""
    steps = timeline.steps
    per_step = finding.wait_ns / len(steps.starts) if steps else 0
    return finding.share >= MIN_SHARE or per_step >= MIN_STEP_NS


def _uncharged(timeline: Timeline, claims: Claims) -> Int64Array:
    """Length of every claim inside its device's window, for findings beside the ledger."""
    owned = np.zeros(len(claims), np.int64)
    for window in timeline.windows:
        rows = np.flatnonzero(claims.read("device") == window.device)
        owned[rows] = window.window.covered(claims.at(Claims.start_ns, rows), claims.at(Claims.end_ns, rows))
    return owned


def _recoverable(rule: Rule, detection: Detection, owned: Int64Array, profiled_ns: int) -> Recoverable:
    """The rule's interval; what the profiler may have added to the host is not promised."""
    if rule.meta.severity == "note":
        return Recoverable(low=0, high=0, assumes=detection.assumes)
    over = owned - detection.floor_ns if detection.floor_ns else owned
    high = int(over.sum(where=over > 0))
    sure = max(high - profiled_ns, 0)
    return Recoverable(low=int(sure * detection.low_ratio), high=high, assumes=detection.assumes)


def _with_expectation(rule: Rule, recoverable: Recoverable) -> list[Experiment]:
    expect = Prediction(metric="window_ns", low=recoverable.low, high=recoverable.high)
    return [msgspec.structs.replace(experiment, expect=expect) for experiment in rule.experiments]


def _severity(rule: Rule, share: float) -> Severity:
    if rule.meta.severity is not None:
        return rule.meta.severity
    return "error" if share >= ERROR_SHARE else "warning"


def _stable_id(timeline: Timeline, rule: Rule) -> str:
    """The same trace and wait give the same id in every run."""
    digest = hashlib.sha256(f"{timeline.trace.source.sha256}\0{rule.meta.id}".encode()).hexdigest()
    return f"F-{digest[:6]}"
