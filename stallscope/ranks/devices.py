"""Several GPUs in one trace: they are ranks of each other, and share a clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from stallscope.api import Examination
from stallscope.model.analysis import Analysis
from stallscope.model.collection import table_source
from stallscope.model.events import Kernels
from stallscope.model.findings import Finding
from stallscope.ranks.merge import split_ledger
from stallscope.ranks.merge_findings import places_of, without_waiting
from stallscope.timeline.intervals import EMPTY, IntervalSet, subtract
from stallscope.waits.ranks.base import EXPOSED, Ranks, RankSummary, summarize
from stallscope.waits.ranks.peer_wait import WAIT as PEER_WAIT
from stallscope.waits.ranks.runner import CrossDiagnosis, compare


def across_devices(examined: Examination, *, everything: bool = False) -> Examination:
    """One trace with what the comparison of its devices adds to the analysis and moves in the charges.

    With one device, or without collectives that two of them share, only the checks say why there is nothing.
    """
    trace = examined.timeline.trace
    summaries = summarize(examined.timeline, examined.charges, table=table_source(trace, Kernels))
    cross = compare(Ranks(summaries), everything=everything)
    moved = {summaries[position].device: waiting for position, waiting in cross.moved.items()}
    charges = {
        device: _split(charged, moved.get(trace.devices[device].label, EMPTY))
        for device, charged in examined.charges.items()
    }
    return replace(
        examined, analysis=_told(examined.analysis, cross, summaries, moved, everything=everything), charges=charges
    )


def _split(charged: Mapping[str, IntervalSet], waiting: IntervalSet) -> Mapping[str, IntervalSet]:
    """Exposed communication without its waiting part, which is charged under its own id."""
    if not waiting.total_ns():
        return charged
    return {**charged, EXPOSED: subtract(charged[EXPOSED], waiting), PEER_WAIT: waiting}


def _told(
    analysis: Analysis,
    cross: CrossDiagnosis,
    summaries: tuple[RankSummary, ...],
    moved: Mapping[str, IntervalSet],
    *,
    everything: bool,
) -> Analysis:
    devices = tuple(split_ledger(each, moved.get(each.device, EMPTY).total_ns()) for each in analysis.devices)
    own = (without_waiting(finding, devices, everything=everything) for finding in analysis.findings)
    compared = (_located(finding, analysis, cross, summaries) for finding in cross.findings)
    findings = sorted(
        (*(finding for finding in own if finding is not None), *compared),
        key=lambda f: (-f.recoverable_ns.high, -f.wait_ns, f.wait),
    )
    checks = {check.wait: check for check in (*analysis.checks, *cross.checks)}
    return msgspec.structs.replace(
        analysis,
        devices=devices,
        findings=tuple(findings),
        checks=tuple(checks[wait] for wait in sorted(checks)),
    )


def _located(
    finding: Finding, analysis: Analysis, cross: CrossDiagnosis, summaries: tuple[RankSummary, ...]
) -> Finding:
    """A finding over devices with the places where the one to blame waits, where a finding of its own names them."""
    blamed = {(wait, summaries[position].device) for position, wait in cross.traced.get(finding.wait, ())}
    theirs = (own for own in analysis.findings if {(own.wait, device) for device in own.devices} <= blamed)
    places = places_of([place for own in theirs for place in own.where])
    return msgspec.structs.replace(finding, where=places) if places else finding
