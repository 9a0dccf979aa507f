"""What the HTML page shows, computed from the document: plain strings and percentages, ready for the template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stallscope.gates import GateResult
from stallscope.model.analysis import Analysis, Step
from stallscope.model.replay import Bound
from stallscope.model.units import duration, share
from stallscope.reporters import phrases
from stallscope.reporters.escape import MAX_NAME, visible
from stallscope.reporters.html_cards import FindingCard, KernelRow, finding_card, kernel_row
from stallscope.reporters.html_charts import RoofChart, StateRow, roof_chart, state_legend, state_rows
from stallscope.views.families import Family, family, family_of
from stallscope.views.headline import headline, problems
from stallscope.views.health import HealthRow, health
from stallscope.views.overview import Account, accounts, step_strip, totals

MAX_KERNELS = 200
SEGMENT_WITH_LETTER = 0.022
_FAMILY_OF_BOUND: dict[Bound, str] = {
    "host": "host",
    "launch": "launch",
    "compute": "work",
    "copy": "copy",
    "comm": "comm",
    "dependency": "dep",
}


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
    path: DeviceRow | None
    joint: str
    steps: tuple[StepRow, ...]
    gates: tuple[GateRow, ...]
    findings: tuple[FindingCard, ...]
    notes: tuple[FindingCard, ...]
    omitted: int
    kernels: tuple[KernelRow, ...]
    omitted_kernels: int
    warp_states: tuple[StateRow, ...]
    warp_legend: tuple[tuple[int, str], ...]
    roofline: RoofChart | None
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
        path=_path(analysis),
        joint=phrases.joint_gain(analysis),
        steps=tuple(_step(step) for step in analysis.steps[:4] if len(step.durations_ns) > 1),
        gates=tuple(_gate(gate) for gate in gates),
        findings=tuple(finding_card(f, widest) for f in shown),
        notes=tuple(finding_card(f, widest) for f in notes[:max_findings]),
        omitted=len(costly) - len(shown),
        kernels=tuple(kernel_row(kernel) for kernel in analysis.kernels[:MAX_KERNELS]),
        omitted_kernels=max(0, len(analysis.kernels) - MAX_KERNELS),
        warp_states=(states := state_rows(analysis)),
        warp_legend=state_legend(states),
        roofline=roof_chart(analysis),
        capture_notes=tuple((visible(note.id), visible(note.message)) for note in analysis.capture.notes),
        health=health(analysis),
        unchecked=tuple((visible(wait), visible(reason)) for wait, reason in phrases.unchecked(analysis)),
        clean=tuple(visible(check.wait) for check in analysis.checks if check.outcome == "clean"),
    )


def _device(account: Account) -> DeviceRow:
    bars: list[Bar] = []
    at = 0.0
    for segment in account.segments:
        known = family_of(segment.wait)
        text = f"{visible(segment.wait, MAX_NAME)}: {duration(segment.time_ns)}, {share(segment.share)}"
        letter = known.letter if segment.share >= SEGMENT_WITH_LETTER else ""
        bars.append(Bar(round(at, 4), round(100 * segment.share, 4), known, text, letter))
        at += 100 * segment.share
    work = sum(s.time_ns for s in account.segments if s.wait.startswith("ok."))
    window = account.device.window_ns
    waits = share((window - work) / window) if window else ""
    name, title = visible(account.device.name, MAX_NAME), visible(account.title, MAX_NAME)
    return DeviceRow(title, name, waits, duration(window), tuple(bars))


def _path(analysis: Analysis) -> DeviceRow | None:
    """The critical path as one more bar, in the colours of the waits that lie on it."""
    text = phrases.critical_path(analysis)
    path = analysis.replay.critical_path if analysis.replay else None
    if not text or path is None:
        return None
    bars: list[Bar] = []
    at = 0.0
    for bound, time_ns in sorted(path.parts_ns.items(), key=lambda part: -part[1]):
        part, known = time_ns / path.total_ns, family(_FAMILY_OF_BOUND[bound])
        letter = known.letter if part >= SEGMENT_WITH_LETTER else ""
        said = f"{bound}: {duration(time_ns)}, {share(part)}"
        bars.append(Bar(round(100 * at, 4), round(100 * part, 4), known, said, letter))
        at += part
    return DeviceRow("critical path", "what decides the end", path.bound_by, duration(path.total_ns), tuple(bars))


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


def _name(text: str) -> str:
    return visible(text, MAX_NAME)
