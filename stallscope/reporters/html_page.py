"""What the HTML page shows, computed from the document: plain strings and percentages, ready for the template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stallscope.gates import GateResult
from stallscope.model.analysis import Analysis, KernelCauses, Step
from stallscope.model.experiments import Experiment
from stallscope.model.findings import Finding, Place
from stallscope.model.units import duration, quantity, share
from stallscope.reporters import phrases
from stallscope.reporters.escape import MAX_NAME, visible
from stallscope.views.families import Family, family_of
from stallscope.views.headline import headline, problems
from stallscope.views.health import HealthRow, health
from stallscope.views.names import elided, short_kernel
from stallscope.views.overview import Account, accounts, step_strip, totals

MAX_SPANS = 8
MAX_PLACES = 10
MAX_KERNELS = 200
SEGMENT_WITH_LETTER = 0.022
_LEVELS = {"indicated": 1, "supported": 2, "confirmed": 3}


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a horizontal bar, in percent of its width."""

    at: float
    width: float
    family: Family
    text: str
    letter: str = ""


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """The ledger of one device as a bar."""

    title: str
    name: str
    waits: str
    window: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class TotalRow:
    """Time of one id over all devices."""

    wait: str
    family: Family
    time: str
    share: str
    per_device: tuple[str, ...]


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


@dataclass(frozen=True, slots=True)
class StepRow:
    """Durations of a repeated range as bars, heights in percent of the slowest."""

    name: str
    text: str
    bars: tuple[tuple[float, float, float, bool, str], ...]


@dataclass(frozen=True, slots=True)
class GateRow:
    """The verdict of one budget."""

    state: str
    budget: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Page:
    """Everything the template prints."""

    title: str
    headline: str
    verdict: str
    sources: tuple[tuple[str, str, str], ...]
    environment: str
    reproduce: str
    devices: tuple[DeviceRow, ...]
    totals: tuple[TotalRow, ...]
    families: tuple[Family, ...]
    steps: tuple[StepRow, ...]
    gates: tuple[GateRow, ...]
    findings: tuple[FindingCard, ...]
    notes: tuple[FindingCard, ...]
    omitted: int
    kernels: tuple[KernelRow, ...]
    omitted_kernels: int
    capture_notes: tuple[tuple[str, str], ...]
    health: tuple[HealthRow, ...]
    unchecked: tuple[tuple[str, str], ...]
    clean: tuple[str, ...]


def page(analysis: Analysis, gates: Sequence[GateResult] = (), *, max_findings: int = 100) -> Page:
    """The page of one analysis; findings beyond `max_findings` are counted, not shown."""
    told = headline(analysis)
    costly = problems(analysis)
    notes = [finding for finding in analysis.findings if finding.severity == "note"]
    window = sum(device.window_ns for device in analysis.devices)
    widest = max((finding.wait_ns for finding in costly), default=1) or 1
    shown = costly[:max_findings]
    names = [_name(source.name) for source in analysis.sources]
    return Page(
        title=", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") or "no source",
        headline=visible(told.sentence),
        verdict=told.verdict.value,
        sources=tuple((_name(s.name), visible(s.producer, MAX_NAME), s.sha256[:12]) for s in analysis.sources),
        environment=visible(phrases.environment(analysis)),
        reproduce=visible(phrases.reproduce(analysis)),
        devices=tuple(_device(account) for account in accounts(analysis)),
        totals=tuple(_totals(analysis, window)),
        families=tuple(dict.fromkeys(family_of(wait) for wait, _ in totals(analysis))),
        steps=tuple(_step(step) for step in analysis.steps[:4] if len(step.durations_ns) > 1),
        gates=tuple(_gate(gate) for gate in gates),
        findings=tuple(_finding(f, widest) for f in shown),
        notes=tuple(_finding(f, widest) for f in notes[:max_findings]),
        omitted=len(costly) - len(shown),
        kernels=tuple(_kernel(kernel) for kernel in analysis.kernels[:MAX_KERNELS]),
        omitted_kernels=max(0, len(analysis.kernels) - MAX_KERNELS),
        capture_notes=tuple((visible(note.id), visible(note.message)) for note in analysis.capture.notes),
        health=health(analysis),
        unchecked=tuple((visible(wait), visible(reason)) for wait, reason in phrases.unchecked(analysis)),
        clean=tuple(visible(check.wait) for check in analysis.checks if check.outcome == "clean"),
    )


def _device(account: Account) -> DeviceRow:
    bars: list[Bar] = []
    at = 0.0
    for segment in account.segments:
        family = family_of(segment.wait)
        text = f"{visible(segment.wait, MAX_NAME)}: {duration(segment.time_ns)}, {share(segment.share)}"
        letter = family.letter if segment.share >= SEGMENT_WITH_LETTER else ""
        bars.append(Bar(round(at, 4), round(100 * segment.share, 4), family, text, letter))
        at += 100 * segment.share
    work = sum(s.time_ns for s in account.segments if s.wait.startswith("ok."))
    window = account.device.window_ns
    waits = share((window - work) / window) if window else ""
    name, title = visible(account.device.name, MAX_NAME), visible(account.title, MAX_NAME)
    return DeviceRow(title, name, waits, duration(window), tuple(bars))


def _totals(analysis: Analysis, window: int) -> Iterator[TotalRow]:
    for wait, time_ns in totals(analysis):
        each = tuple(duration(device.ledger.get(wait, 0)) for device in analysis.devices)
        part = share(time_ns / window if window else 0)
        yield TotalRow(visible(wait, MAX_NAME), family_of(wait), duration(time_ns), part, each)


def _step(step: Step) -> StepRow:
    strip = step_strip(step)
    width = 100 / len(strip.bars)
    text = f"{strip.count:,} steps, median {duration(strip.median_ns)}, slowest {duration(strip.slowest_ns)}"
    bars = []
    for number, bar in enumerate(strip.bars):
        height = 100 * bar.time_ns / (strip.slowest_ns or 1)
        which = f"step {bar.first}" if bar.first == bar.last else f"steps {bar.first} to {bar.last}"
        bars.append((round(number * width, 3), round(width * 0.82, 3), round(height, 2), bar.slow, which))
    return StepRow(_name(step.name), text, tuple(bars))


def _gate(gate: GateResult) -> GateRow:
    return GateRow(gate.state, visible(gate.budget.name), gate.shown, visible(gate.reason))


def _finding(finding: Finding, widest: int) -> FindingCard:
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
        count=f"{finding.count:,}",
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


def _kernel(kernel: KernelCauses) -> KernelRow:
    return KernelRow(
        name=visible(short_kernel(kernel.kernel, phrases.MAX_NAME)),
        full_name=visible(kernel.kernel),
        shape=phrases.shape(kernel),
        launches=f"{kernel.launches:,}",
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


def _name(text: str) -> str:
    return visible(text, MAX_NAME)
