"""Markdown for a pull-request comment: one hidden marker, one headline, one table, the evidence folded away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from stallscope.gates import GateResult
from stallscope.model.analysis import Analysis, DeviceLedger
from stallscope.model.experiments import Experiment
from stallscope.model.findings import Finding
from stallscope.model.units import duration, quantity, share
from stallscope.reporters import phrases
from stallscope.reporters.budgeted import Measure, Section, fit
from stallscope.reporters.escape import html_code, markdown_code, markdown_text
from stallscope.views.headline import problems
from stallscope.views.names import short_kernel

MAX_CHARACTERS = 60_000
MAX_ROWS = 25
MAX_DETAILED = 50
MAX_PLACES = 5
MAX_ITEMS = 20

_STATES = {"fail": "**over**", "inconclusive": "unclear", "pass": "within"}


def marker(key: str) -> str:
    """The hidden line by which a later run finds its own comment; `key` names the workflow."""
    return f"<!-- stallscope:{re.sub(r'[^A-Za-z0-9._]+', '-', key)[:80]} -->"


class MarkdownReporter:
    """Renders an analysis, and budgets over it, in at most `limit` characters."""

    name = "md"
    suffix = ".md"

    def __init__(
        self,
        gates: Sequence[GateResult] = (),
        *,
        key: str = "report",
        limit: int = MAX_CHARACTERS,
        measure: Measure = len,
    ) -> None:
        self._gates = gates
        self._marker = marker(key)
        self._limit = limit
        self._measure = measure

    def render(self, analysis: Analysis, out: TextIO) -> None:
        """Write the comment."""
        sections = [*self._sections(analysis)]
        out.write(fit(sections, _footer(analysis), self._limit, self._measure))

    def _sections(self, analysis: Analysis) -> Iterator[Section]:
        headline = gate_headline(self._gates) or phrases.headline(analysis)
        yield Section("headline", f"{self._marker}\n### stallscope: {markdown_text(headline)}\n")
        if self._gates:
            yield Section("summary", f"{markdown_text(phrases.headline(analysis))}\n")
            yield Section("budgets", _gate_table(self._gates))
        costly = problems(analysis)
        notes = [finding for finding in analysis.findings if finding.severity == "note"]
        if costly:
            yield Section("table of findings", _findings_table(costly))
            said = [line for line in (phrases.joint_gain(analysis), phrases.critical_path(analysis)) if line]
            yield from (Section("sums", f"{'. '.join(said)}.\n") for _ in said[:1])
        yield from (Section("evidence of findings", _details(finding)) for finding in costly[:MAX_DETAILED])
        if len(costly) > MAX_DETAILED:
            more = len(costly) - MAX_DETAILED
            yield Section("count of findings", f"*{more:,} more findings are in the full report.*\n")
        if analysis.kernels:
            yield Section("kernels", _fold(f"Kernels ({len(analysis.kernels)})", _kernel_table(analysis)))
        if analysis.capture.notes:
            rows = [f"- {markdown_text(note.message)}" for note in analysis.capture.notes[:MAX_ITEMS]]
            yield Section("notes about the capture", _fold("About the capture", "\n".join(rows)))
        if notes:
            rows = [f"- {markdown_code(note.wait)} {markdown_text(note.title)}" for note in notes[:MAX_ITEMS]]
            yield Section("explanations", _fold(f"Not charged ({len(notes)})", "\n".join(rows)))
        unchecked = phrases.unchecked(analysis)
        if unchecked:
            rows = [f"- {markdown_code(wait)} {markdown_text(reason)}" for wait, reason in unchecked]
            yield Section("waits not checked", _fold(f"Not checked ({len(unchecked)})", "\n".join(rows)))
        yield from (Section("ledgers of devices", _ledger(device)) for device in analysis.devices)


def gate_headline(gates: Sequence[GateResult]) -> str:
    """`1 budget exceeded, 1 inconclusive, 6 within`; empty without budgets."""
    words = {"fail": "exceeded", "inconclusive": "inconclusive", "pass": "within budget"}
    counts = {state: sum(gate.state == state for gate in gates) for state in words}
    return ", ".join(f"{count} {words[state]}" for state, count in counts.items() if count)


def _gate_table(gates: Sequence[GateResult]) -> str:
    rows = [
        f"| {_STATES[gate.state]} | {markdown_code(gate.budget.name)} | {gate.shown} | {markdown_text(gate.reason)} |"
        for gate in sorted(gates, key=lambda gate: list(_STATES).index(gate.state))
    ]
    return _table("| | budget | measured | |", "|---|---|--:|---|", rows)


def _findings_table(findings: Sequence[Finding]) -> str:
    rows = [
        f"| {markdown_code(f.wait)} | {duration(f.wait_ns)} | {share(f.share)} "
        f"| {phrases.recoverable(f.recoverable_ns)} | {f.evidence_level} | {_code_place(f)} |"
        for f in findings[:MAX_ROWS]
    ]
    more = len(findings) - MAX_ROWS
    rows += [f"| *{more:,} more* | | | | | |"] if more > 0 else []
    return _table(
        "| wait | lost | share | worth removing | evidence | worst place |", "|---|--:|--:|---|---|---|", rows
    )


def _code_place(finding: Finding) -> str:
    worst = phrases.worst_place(finding)
    return markdown_code(worst) if worst else ""


def _details(finding: Finding) -> str:
    return _fold(
        f"{html_code(finding.wait)} {markdown_text(finding.title)} ({finding.count:,}×, {markdown_text(finding.id)})",
        "\n".join(_detail_lines(finding)),
    )


def _detail_lines(finding: Finding) -> Iterator[str]:
    worth = finding.recoverable_ns
    yield f"Removing it is worth {phrases.recoverable(worth)}, if {markdown_text(worth.assumes)}."
    if not finding.ledger:
        yield f"\n{phrases.beside(finding)}."
    yield "\n**Evidence**\n"
    for item in finding.evidence[:MAX_ITEMS]:
        value = quantity(item.value, item.unit)
        yield f"- {markdown_text(item.label)}: {value} in {markdown_code(item.source)}"
    if finding.where:
        yield "\n**Where**\n"
        for where in finding.where[:MAX_PLACES]:
            yield f"- {markdown_code(phrases.place(where, finding.wait))}: {duration(where.wait_ns)} in {where.count:,}"
    for experiment in finding.experiments:
        yield from _experiment_lines(experiment)
    if finding.caveats:
        yield "\n**Caveats**\n"
        yield from (f"- {markdown_text(caveat)}" for caveat in finding.caveats)


def _experiment_lines(experiment: Experiment) -> Iterator[str]:
    yield f"\n**Next experiment: {markdown_text(experiment.title)}**\n"
    yield f"- change: {markdown_text(experiment.change)}"
    yield from (f"- apply: {markdown_code(item)}" for item in experiment.apply)
    yield f"- measure: {markdown_code(experiment.measure)}"
    if experiment.expect:
        low, high = duration(experiment.expect.low), duration(experiment.expect.high)
        yield f"- expect: {markdown_text(experiment.expect.metric)} falls by {low} to {high}"
    yield f"- refuted if {markdown_text(experiment.refuted_if)}"
    yield f"- results must be {experiment.numerics}"


def _kernel_table(analysis: Analysis) -> str:
    rows = [
        f"| {markdown_code(short_kernel(k.kernel, phrases.MAX_NAME))} | {phrases.shape(k)} | {duration(k.time_ns)} "
        f"| {share(k.share)} | {markdown_code(k.cause)} | {k.evidence_level} |"
        for k in analysis.kernels[:MAX_ROWS]
    ]
    more = len(analysis.kernels) - MAX_ROWS
    rows += [f"| *{more:,} more* | | | | | |"] if more > 0 else []
    return _table("| kernel | shape | time | share | cause | evidence |", "|---|---|--:|--:|---|---|", rows)


def _ledger(device: DeviceLedger) -> str:
    charges = sorted(device.ledger.items(), key=lambda item: (-item[1], item[0]))
    window = device.window_ns or 1
    rows = [f"| {markdown_code(wait)} | {duration(ns)} | {share(ns / window)} |" for wait, ns in charges if ns]
    rows.append(f"| window | {duration(device.window_ns)} | 100 % |")
    title = f"Ledger of {markdown_text(device.device, 60)}, {markdown_text(device.name, 60)}"
    return _fold(title, _table("| charged to | time | share |", "|---|--:|--:|", rows))


def _footer(analysis: Analysis) -> str:
    return (
        f"<sub>{markdown_text(phrases.environment(analysis), 400)}</sub>\n\n"
        f"Reproduce: {markdown_code(phrases.reproduce(analysis), 300)}\n"
    )


def _table(head: str, rule: str, rows: Sequence[str]) -> str:
    return "\n".join([head, rule, *rows]) + "\n"


def _fold(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>\n"


REPORTER = MarkdownReporter()
