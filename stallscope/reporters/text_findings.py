"""Findings and experiments as the terminal report prints them."""

from __future__ import annotations

from stallscope.model.analysis import Analysis
from stallscope.model.experiments import Experiment
from stallscope.model.findings import Finding, Place
from stallscope.model.units import duration, share
from stallscope.reporters import phrases
from stallscope.reporters.terminal import Paper
from stallscope.views.headline import is_inside_kernels, problems

MAX_FINDINGS = 10
MAX_NOTES = 5
MAX_EVIDENCE = 3
MARKS = {"error": "red", "warning": "yellow", "note": "dim"}


def write_findings(paper: Paper, analysis: Analysis, *, everything: bool) -> None:
    """What to act on, by recoverable time; then notes, one line each."""
    found = problems(analysis)
    notes = tuple(finding for finding in analysis.findings if finding not in found)
    if found:
        paper.heading("Findings, by the time that removing them can give back")
        limit = len(found) if everything else MAX_FINDINGS
        for rank, finding in enumerate(found[:limit], start=1):
            _write_finding(paper, rank, finding)
        if len(found) > limit:
            paper.line(f" … and {len(found) - limit} smaller ones: --all prints them", "dim")
        together = [line for line in (phrases.joint_gain(analysis), phrases.critical_path(analysis)) if line]
        if together:
            paper.blank()
            paper.prose(f"{'. '.join(together)}.")
    if notes:
        paper.heading("Notes: these explain, and cost nothing that can be won back")
        for note in notes[: len(notes) if everything else MAX_NOTES]:
            paper.prose(f"{note.wait}: {note.title} ({share(note.share)})", indent=" · ", max_lines=2)


def write_plan(paper: Paper, analysis: Analysis, count: int) -> None:
    """The next experiments in full, one change at a time, by expected gain, evidence and effort."""
    if not count:
        return
    from stallscope.experiments.plan import next_experiments

    planned = next_experiments(analysis, count)
    if not planned:
        return
    paper.heading("Plan: one change at a time, measured before the next")
    for number, item in enumerate(planned, start=1):
        write_experiment(paper, number, item.finding, item.experiment)


def _write_finding(paper: Paper, rank: int, finding: Finding) -> None:
    left = f"{rank:>2} {finding.wait}  {_worth(finding)}"
    if len(left) + len(finding.id) >= paper.width:
        left = f"{rank:>2} {finding.wait}  {_worth(finding, short=True)}"
    paper.columns(left, finding.id, MARKS[finding.severity])
    beside = "" if finding.ledger or is_inside_kernels(finding.wait) else f" ({phrases.beside(finding)})"
    paper.prose(f"{finding.title}{beside}", indent="   ", max_lines=2)
    paper.prose(f"{finding.evidence_level}: {_evidence(finding, 2 * (paper.width - 12))}", indent="   ", max_lines=2)
    if finding.where:
        paper.prose(f"worst: {_place(finding.where[0], finding.wait)}", indent="   ", max_lines=2)
    if finding.experiments:
        first = finding.experiments[0]
        paper.prose(f"try: {first.title}", indent="   ", max_lines=2)
        if first.apply:
            paper.command(first.apply[0].splitlines()[0], indent="     ")


def _worth(finding: Finding, *, short: bool = False) -> str:
    worth = phrases.recoverable(finding.recoverable_ns)
    of = "" if short else f" of {duration(finding.wait_ns)}"
    return f"saves {worth}{of} ({share(finding.share)})"


def _evidence(finding: Finding, room: int) -> str:
    """As many numbers as fit whole; at least the first."""
    items = [phrases.evidence(item) for item in finding.evidence[:MAX_EVIDENCE]]
    while len(items) > 1 and len("; ".join(items)) > room:
        items.pop()
    return "; ".join(items)


def write_place(paper: Paper, place: Place, wait: str) -> None:
    """One place with how often and how much."""
    paper.prose(_place(place, wait), indent="  - ", hanging="    ", max_lines=3)


def _place(place: Place, wait: str) -> str:
    times = "once" if place.count == 1 else f"{place.count:,} times"
    return f"{times}, {duration(place.wait_ns)}: {phrases.place(place, wait)}"


def write_experiment(paper: Paper, number: int, finding: Finding, experiment: Experiment) -> None:
    """One experiment in full: the change, how to measure it, what to expect and what would refute it."""
    paper.columns(f"{number:>2} {experiment.title}", f"{finding.wait} {finding.id}", "bold")
    paper.prose(experiment.change, indent="   ")
    for line in (line for apply in experiment.apply for line in apply.splitlines()):
        paper.command(line, indent="     ")
    paper.line("   measure:")
    paper.command(experiment.measure, indent="     ")
    if experiment.expect is not None:
        expect = experiment.expect
        paper.prose(f"expect: {expect.metric} falls by {duration(expect.low)} to {duration(expect.high)}", indent="   ")
    paper.prose(f"refuted if {experiment.refuted_if}", indent="   ")
    gate = "bit-identical results" if experiment.numerics == "bit-identical" else "results inside the FP64 gate"
    paper.prose(f"numerics: {gate}", indent="   ")
