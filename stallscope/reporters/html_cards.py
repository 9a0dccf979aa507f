"""Findings and kernels as the HTML page shows them: one card each, plain strings and percentages."""

from __future__ import annotations

from dataclasses import dataclass

from stallscope.model.analysis import KernelCauses
from stallscope.model.experiments import Experiment
from stallscope.model.findings import Finding, Place
from stallscope.model.units import duration, quantity, share
from stallscope.reporters import phrases
from stallscope.reporters.escape import MAX_NAME, visible
from stallscope.views.families import Family, family_of
from stallscope.views.names import elided, short_kernel

MAX_SPANS = 8
MAX_PLACES = 10
_LEVELS = {"indicated": 1, "supported": 2, "confirmed": 3}


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A span of a finding that the timeline can show."""

    low_ns: int
    high_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class ExperimentCard:
    """One next experiment."""

    title: str
    change: str
    apply: tuple[str, ...]
    measure: str
    expect: str
    refuted_if: str
    numerics: str


@dataclass(frozen=True, slots=True)
class FindingCard:
    """One finding. `lost`, `low` and `high` are percentages of the widest finding, for the bar."""

    anchor: str
    id: str
    wait: str
    family: Family
    title: str
    severity: str
    level: str
    dots: int
    devices: str
    count: str
    lost_text: str
    share_text: str
    worth_text: str
    assumes: str
    lost: float
    low: float
    high: float
    beside: str
    evidence: tuple[tuple[str, str, str], ...]
    places: tuple[tuple[str, str, str, str], ...]
    spans: tuple[SpanLink, ...]
    experiments: tuple[ExperimentCard, ...]
    caveats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel with its cause; gains are percentages of the kernel's own time."""

    name: str
    full_name: str
    shape: str
    launches: str
    time: str
    share: str
    share_percent: float
    cause: str
    family: Family
    level: str
    causes: tuple[tuple[str, str, float, float, str, str], ...]


def finding_card(finding: Finding, widest: int) -> FindingCard:
    """The card of one finding; bars are relative to the `widest` wait, ns."""
    worth = finding.recoverable_ns
    spans = sorted(finding.spans, key=lambda span: span[0] - span[1])[:MAX_SPANS]
    return FindingCard(
        anchor="".join(c for c in finding.id if c.isalnum() or c == "-")[:40],
        id=visible(finding.id, MAX_NAME),
        wait=visible(finding.wait, MAX_NAME),
        family=family_of(finding.wait),
        title=visible(finding.title),
        severity=finding.severity,
        level=finding.evidence_level,
        dots=_LEVELS[finding.evidence_level],
        devices=visible(", ".join(finding.devices), MAX_NAME),
        count="once" if finding.count == 1 else f"{finding.count:,} times",
        lost_text=duration(finding.wait_ns),
        share_text=share(finding.share),
        worth_text=phrases.recoverable(worth),
        assumes=visible(worth.assumes),
        lost=round(100 * finding.wait_ns / widest, 3),
        low=round(100 * worth.low / widest, 3),
        high=round(100 * worth.high / widest, 3),
        beside=phrases.beside(finding),
        evidence=tuple(
            (visible(item.label), quantity(item.value, item.unit), visible(item.source, MAX_NAME))
            for item in finding.evidence
        ),
        places=tuple(_place(where) for where in finding.where[:MAX_PLACES]),
        spans=tuple(SpanLink(low, high, f"{duration(high - low)} at {duration(low)}") for low, high in spans),
        experiments=tuple(_experiment(experiment) for experiment in finding.experiments),
        caveats=tuple(visible(caveat) for caveat in finding.caveats),
    )


def _place(where: Place) -> tuple[str, str, str, str]:
    path = phrases.nvtx_path(where) + (" (by time)" if where.nvtx_by == "time" and where.nvtx else "")
    call = elided(where.api, MAX_NAME) if where.api else ""
    kernel = short_kernel(where.kernel, MAX_NAME) if where.kernel else ""
    cost = f"{duration(where.wait_ns)} in {where.count:,}"
    return visible(path), visible(call), visible(kernel), cost


def _experiment(experiment: Experiment) -> ExperimentCard:
    expect = ""
    if experiment.expect:
        low, high = duration(experiment.expect.low), duration(experiment.expect.high)
        expect = f"{visible(experiment.expect.metric, MAX_NAME)} falls by {low} to {high}"
    return ExperimentCard(
        title=visible(experiment.title),
        change=visible(experiment.change),
        apply=tuple(visible(item) for item in experiment.apply),
        measure=visible(experiment.measure),
        expect=expect,
        refuted_if=visible(experiment.refuted_if),
        numerics=experiment.numerics,
    )


def kernel_row(kernel: KernelCauses) -> KernelRow:
    """One kernel with its causes."""
    return KernelRow(
        name=visible(short_kernel(kernel.kernel, phrases.MAX_NAME)),
        full_name=visible(kernel.kernel),
        shape=phrases.shape(kernel),
        launches=phrases.count(kernel.launches, "launch"),
        time=duration(kernel.time_ns),
        share=share(kernel.share),
        share_percent=round(100 * min(max(kernel.share, 0.0), 1.0), 3),
        cause=visible(kernel.cause, MAX_NAME),
        family=family_of(kernel.cause),
        level=kernel.evidence_level,
        causes=tuple(
            (
                visible(cause.wait, MAX_NAME),
                f"{share(cause.kernel_gain.low)} to {share(cause.kernel_gain.high)}",
                round(100 * min(max(cause.kernel_gain.low, 0.0), 1.0), 3),
                round(100 * min(max(cause.kernel_gain.high, 0.0), 1.0), 3),
                visible(cause.ceiling, MAX_NAME),
                visible(cause.message),
            )
            for cause in kernel.causes
        ),
    )
