"""What the trace can and cannot tell, and the flag that would add what is missing."""

from __future__ import annotations

from collections.abc import Iterator

from stallscope.model.analysis import Analysis
from stallscope.reporters.terminal import Paper

MAX_LINES = 6
PROFILE = "profile with "


def write_health(paper: Paper, analysis: Analysis, *, everything: bool) -> None:
    """Notes of the capture, rules that broke, and waits that nobody looked for, by what would make that possible."""
    notes = [f"{note.id}: {note.message}" for note in analysis.capture.notes]
    notes += [f"rule {check.wait} failed: {check.reason}" for check in analysis.checks if check.outcome == "failed"]
    missing = list(_not_checked(analysis))
    if not notes and not missing:
        return
    paper.heading("Trace health")
    for note in notes:
        paper.prose(note, indent=" ! ", max_lines=0 if everything else 4)
    limit = len(missing) if everything else max(1, MAX_LINES - len(notes))
    for line in missing[:limit]:
        paper.prose(line, indent=" - ", max_lines=0 if everything else 2)
    if len(missing) > limit:
        paper.line(f" - … {len(missing) - limit} more: --all prints them", "dim")


def _not_checked(analysis: Analysis) -> Iterator[str]:
    """Waits nobody could look for, by what would change that, most waits first; notes of the capture say theirs."""
    told = {note.id for note in analysis.capture.notes}
    grouped: dict[str, list[str]] = {}
    for check in analysis.checks:
        if check.outcome == "not_applicable" and check.reason.partition(":")[0] not in told:
            grouped.setdefault(_remedy(check.reason) or check.reason, []).append(check.wait)
    for reason, waits in sorted(grouped.items(), key=lambda item: -len(item[1])):
        names = ", ".join(waits)
        yield f"{reason} to check {names}" if reason.startswith(PROFILE) else f"{reason} (not checked: {names})"


def _remedy(reason: str) -> str:
    """The flags that would collect what is missing, where the reason ends with them; else nothing."""
    _, found, flags = reason.rpartition(f": {PROFILE}")
    program = "nsys " if flags.startswith("-") else ""
    return f"{PROFILE}{program}{flags}" if found else ""
