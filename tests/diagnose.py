"""Runs every rule on a built trace and says what the ledger charges, in microseconds."""

from __future__ import annotations

from build import US, TraceBuilder

from stallscope.model.analysis import Analysis
from stallscope.model.findings import Finding


def analysis(build: TraceBuilder, *, everything: bool = True) -> Analysis:
    """The analysis of a built trace; no rule may have failed."""
    from stallscope.api import analyze_trace

    found = analyze_trace(build.trace(), everything=everything)
    assert [c for c in found.checks if c.outcome == "failed"] == []
    for device in found.devices:
        assert sum(device.ledger.values()) == device.window_ns
    return found


def charges(build: TraceBuilder, device: int = 0) -> dict[str, float]:
    """What the ledger of a device charges, in microseconds, without zeros and without what is no wait."""
    ledger = analysis(build).devices[device].ledger
    return {wait: ns / US for wait, ns in ledger.items() if ns and not wait.startswith("ok.")}


def finding(build: TraceBuilder, wait: str) -> Finding:
    """The finding of a wait; it must be there."""
    return next(f for f in analysis(build).findings if f.wait == wait)


def waits(build: TraceBuilder) -> list[str]:
    """Waits above a note, most recoverable first, as a user sees them."""
    return [f.wait for f in analysis(build, everything=False).findings if f.severity != "note"]


def outcome(build: TraceBuilder, wait: str) -> tuple[str, str]:
    """Outcome and reason of one rule's check."""
    check = next(c for c in analysis(build).checks if c.wait == wait)
    return check.outcome, check.reason


def evidence(build: TraceBuilder, wait: str) -> dict[str, tuple[int | float, str, str]]:
    """The evidence of a finding: label → value, unit, table of the export."""
    return {row.label: (row.value, row.unit, row.source) for row in finding(build, wait).evidence}
