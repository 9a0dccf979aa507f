"""Several GPUs in one trace: they are ranks of each other, and share a clock."""

from __future__ import annotations

import msgspec

from stallscope.api import Examination
from stallscope.model.analysis import Analysis
from stallscope.model.collection import table_source
from stallscope.model.events import Kernels
from stallscope.ranks.merge import split_ledger
from stallscope.ranks.merge_findings import without_waiting
from stallscope.waits.ranks.base import Ranks, summarize
from stallscope.waits.ranks.runner import compare


def across_devices(examined: Examination, *, everything: bool = False) -> Analysis:
    """The analysis of one trace with what the comparison of its devices adds.

    With one device, or without collectives that two of them share, only the checks say why there is nothing.
    """
    analysis, trace = examined.analysis, examined.timeline.trace
    summaries = summarize(examined.timeline, examined.charges, table=table_source(trace, Kernels))
    cross = compare(Ranks(summaries), everything=everything)
    moved = {summaries[position].device: ns for position, ns in cross.moved_ns.items()}
    devices = tuple(split_ledger(ledger, moved.get(ledger.device, 0)) for ledger in analysis.devices)
    own = (without_waiting(finding, devices, everything=everything) for finding in analysis.findings)
    findings = sorted(
        (*(finding for finding in own if finding is not None), *cross.findings),
        key=lambda f: (-f.recoverable_ns.high, -f.wait_ns, f.wait),
    )
    checks = {check.wait: check for check in (*analysis.checks, *cross.checks)}
    return msgspec.structs.replace(
        analysis,
        devices=devices,
        findings=tuple(findings),
        checks=tuple(checks[wait] for wait in sorted(checks)),
    )
