"""One finding in full: what was seen, where, when, what it is worth, what to try."""

from __future__ import annotations

from stallscope.model.findings import Finding
from stallscope.model.units import duration, share
from stallscope.reporters import phrases
from stallscope.reporters.terminal import Paper
from stallscope.reporters.text_findings import write_experiment, write_place

MAX_PLACES = 10
MAX_SPANS = 10


def write_explanation(paper: Paper, finding: Finding) -> None:
    """The finding with everything the document holds about it."""
    paper.columns(f"{finding.wait}  {share(finding.share)} of the window", finding.id, "bold")
    paper.prose(finding.title)
    paper.blank()
    times = "once" if finding.count == 1 else f"{finding.count:,} times"
    paper.prose(f"waited {duration(finding.wait_ns)}, {times}, on {', '.join(finding.devices)}")
    worth = finding.recoverable_ns
    paper.prose(f"removing it saves {phrases.recoverable(worth)}, if {worth.assumes}")
    if not finding.ledger:
        paper.prose(phrases.beside(finding))
    _write_evidence(paper, finding)
    _write_places(paper, finding)
    _write_spans(paper, finding)
    if finding.caveats:
        paper.heading("Doubts")
        for caveat in finding.caveats:
            paper.prose(caveat, indent="  - ", hanging="    ")
    if finding.experiments:
        paper.heading("What to try next")
        for number, experiment in enumerate(finding.experiments, start=1):
            write_experiment(paper, number, finding, experiment)
    paper.heading("Next")
    paper.line(f"  stallscope explain {finding.wait}    how this is detected and when it is wrong")


def _write_evidence(paper: Paper, finding: Finding) -> None:
    paper.heading(f"Evidence ({finding.evidence_level})")
    for item in finding.evidence:
        paper.prose(f"{phrases.evidence(item)} [{item.source}]", indent="  - ", hanging="    ")


def _write_places(paper: Paper, finding: Finding) -> None:
    if not finding.where:
        return
    paper.heading("Where")
    for place in finding.where[:MAX_PLACES]:
        write_place(paper, place, finding.wait)
    if len(finding.where) > MAX_PLACES:
        paper.line(f"  … and {len(finding.where) - MAX_PLACES} more in the JSON report", "dim")


def _write_spans(paper: Paper, finding: Finding) -> None:
    if not finding.spans:
        return
    paper.heading("When (trace clock, as Nsight Systems shows it)")
    for start, end in finding.spans[:MAX_SPANS]:
        paper.line(f"  {start / 1e9:.9f} s   for {duration(end - start)}")
    if len(finding.spans) > MAX_SPANS:
        paper.line(f"  … and {len(finding.spans) - MAX_SPANS} more in the JSON report", "dim")
