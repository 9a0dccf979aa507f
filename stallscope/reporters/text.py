"""The report on a terminal: headline, account, findings, health of the trace, next command."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from statistics import median
from typing import TextIO

from stallscope.gates import GateResult
from stallscope.model.analysis import UNATTRIBUTED, Analysis, DeviceLedger
from stallscope.model.units import duration, share
from stallscope.reporters.terminal import Paper, bar
from stallscope.reporters.text_findings import write_findings, write_plan
from stallscope.reporters.text_health import write_health
from stallscope.reporters.text_kernels import write_kernels
from stallscope.views.headline import Headline, Part, Verdict, headline, part_of, problems, waiting_ns

BLOCKS = {Part.WORK: "█", Part.KERNEL_WAIT: "▓", Part.TRANSFER: "▒", Part.IDLE: "░", Part.UNEXPLAINED: "·"}
STYLES = {
    Verdict.WAITS: "yellow",
    Verdict.HEALTHY: "green",
    Verdict.INCOMPLETE: "yellow",
    Verdict.REFUSED: "red",
    Verdict.KERNELS_ONLY: "bold",
    Verdict.NO_ACTIVITY: "red",
}
GATE_STATES = {"pass": ("within", "green"), "fail": ("over", "red"), "inconclusive": ("unclear", "yellow")}
NARROWEST = 60
MAX_DEVICES = 16
MAX_LEDGER_ROWS = 8


@dataclass(frozen=True, slots=True)
class TextReporter:
    """The report as lines of at most `width` cells.

    `plan` is how many experiments to spell out, `paths` the inputs as the user wrote them, for commands to type next.
    """

    width: int = 80
    colour: bool = False
    everything: bool = False
    plan: int = 0
    gates: tuple[GateResult, ...] = ()
    paths: tuple[str, ...] = ()
    name: str = "text"
    suffix: str = ".txt"

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the report."""
        paper = Paper(width=max(self.width, NARROWEST), colour=self.colour)
        told = headline(analysis)
        _write_head(paper, analysis)
        paper.blank()
        paper.lines.append(paper.paint("\n".join(_wrapped(paper, told)), STYLES[told.verdict]))
        if analysis.devices:
            _write_devices(paper, analysis, told)
            _write_ledger(paper, analysis, everything=self.everything)
        write_findings(paper, analysis, everything=self.everything)
        write_kernels(paper, analysis, everything=self.everything)
        write_health(paper, analysis, everything=self.everything)
        write_plan(paper, analysis, self.plan)
        _write_gates(paper, self.gates)
        _write_next(paper, analysis, told, self.paths)
        out.write(paper.text())


def _wrapped(paper: Paper, told: Headline) -> list[str]:
    wrapped = Paper(width=paper.width)
    wrapped.prose(told.sentence)
    return wrapped.lines


def _write_head(paper: Paper, analysis: Analysis) -> None:
    for source in analysis.sources[:MAX_DEVICES]:
        schema = f", schema {source.schema}" if source.schema else ""
        rank = f"rank {source.rank} · " if source.rank is not None else ""
        paper.columns(f"{rank}{source.name}", f"{source.producer or source.format}{schema}", "bold")
    if len(analysis.sources) > MAX_DEVICES:
        paper.line(f"… and {len(analysis.sources) - MAX_DEVICES} more files", "dim")
    models = sorted({device.name for device in analysis.devices if device.name})
    facts = [f"{len(analysis.devices)} × {', '.join(models)}"] if models else []
    facts += [_steps(step.name, step.durations_ns) for step in analysis.steps[:1] if step.durations_ns]
    if facts:
        paper.line(" · ".join(facts), "dim")


def _steps(name: str, durations_ns: tuple[int, ...]) -> str:
    count = f"{len(durations_ns)} step{'' if len(durations_ns) == 1 else 's'}"
    return f"{count} of `{name}`, median {duration(median(durations_ns))}"


def _write_devices(paper: Paper, analysis: Analysis, told: Headline) -> None:
    known = told.verdict is not Verdict.REFUSED
    paper.blank()
    labels = [_device_label(device) for device in analysis.devices[:MAX_DEVICES]]
    label_width = min(max(map(len, labels)), 16)
    for label, device in zip(labels, analysis.devices, strict=False):
        waiting = share(waiting_ns(device) / device.window_ns if device.window_ns else 0) if known else "unknown"
        blocks = bar(
            [(_part_ns(device, part), block) for part, block in BLOCKS.items()], paper.width - label_width - 24
        )
        paper.line(f"{label[:label_width]:{label_width}} {blocks} {waiting:>7} of {duration(device.window_ns)}")
    if len(analysis.devices) > MAX_DEVICES:
        paper.line(f"… and {len(analysis.devices) - MAX_DEVICES} more devices", "dim")
    shown = [part for part in BLOCKS if any(_part_ns(device, part) for device in analysis.devices)]
    names = {part: part.value for part in shown} | ({} if known else {Part.UNEXPLAINED: "idle, or graph work not seen"})
    paper.prose("   ".join(f"{BLOCKS[part]} {names[part]}" for part in shown), indent=" " * (label_width + 1))


def _device_label(device: DeviceLedger) -> str:
    return device.device if device.rank is None else f"rank {device.rank} {device.device}"


def _part_ns(device: DeviceLedger, part: Part) -> int:
    return sum(ns for wait, ns in device.ledger.items() if part_of(wait) is part)


def _write_ledger(paper: Paper, analysis: Analysis, *, everything: bool) -> None:
    window = sum(device.window_ns for device in analysis.devices)
    totals: dict[str, int] = {UNATTRIBUTED: 0}
    for device in analysis.devices:
        for wait, ns in device.ledger.items():
            totals[wait] = totals.get(wait, 0) + ns
    rows = sorted(totals.items(), key=lambda row: (-row[1], row[0]))
    limit = len(rows) if everything else MAX_LEDGER_ROWS
    shown = [row for row in rows if row[0] != UNATTRIBUTED][:limit]
    rest = window - sum(ns for _, ns in shown) - totals[UNATTRIBUTED]
    paper.heading("Where the time went")
    for wait, ns in shown:
        _write_row(paper, wait, ns, window)
    if rest:
        _write_row(paper, "all other ids", rest, window)
    _write_row(paper, UNATTRIBUTED, totals[UNATTRIBUTED], window)


def _write_row(paper: Paper, wait: str, ns: int, window_ns: int) -> None:
    ratio = ns / window_ns if window_ns else 0
    paper.line(f"  {wait:<24} {duration(ns):>9} {share(ratio):>8}  {'▪' * round(ratio * (paper.width - 48))}")


def _write_gates(paper: Paper, gates: tuple[GateResult, ...]) -> None:
    if not gates:
        return
    paper.heading("Budgets")
    for gate in gates:
        label, style = GATE_STATES[gate.state]
        paper.prose(
            f"{label} {gate.budget.name}: {gate.reason}", indent=f"  {paper.paint('■', style)} ", hanging="    "
        )


def _write_next(paper: Paper, analysis: Analysis, told: Headline, paths: tuple[str, ...]) -> None:
    """Commands to type; `paths` are the inputs as the user wrote them."""
    found = problems(analysis)
    given = " ".join(shlex.quote(path) for path in paths or [source.name for source in analysis.sources])
    paper.heading("Next")
    if found:
        paper.command(f"stallscope explain {found[0].wait}", indent="  ")
        paper.command(f"stallscope explain {found[0].id} {given}", indent="  ")
    elif told.verdict in (Verdict.REFUSED, Verdict.NO_ACTIVITY, Verdict.INCOMPLETE):
        paper.command(f"stallscope doctor {given}", indent="  ")
    elif told.verdict is Verdict.KERNELS_ONLY and analysis.kernels:
        paper.command(f"stallscope explain {analysis.kernels[0].cause}", indent="  ")
    else:
        paper.line("  nothing to do here; compare runs with: stallscope diff BASE --to HEAD")


REPORTER = TextReporter()
