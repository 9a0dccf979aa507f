"""Sections that have to fit into a limit: what does not is dropped from the bottom, and the text says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Measure = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report. `label` names it where it is left out; sections of one label are counted."""

    label: str
    text: str


def fit(sections: Sequence[Section], footer: str, limit: int, measure: Measure = len) -> str:
    """The sections from the top for as long as they fit with the footer, then what was left out, then the footer."""
    room = limit - measure(footer) - measure(_omission(sections, limit)) - 2
    kept = 0
    for section in sections:
        room -= measure(section.text) + 1
        if room < 0:
            break
        kept += 1
    parts = [section.text for section in sections[:kept]]
    if kept < len(sections):
        parts.append(_omission(sections[kept:], limit))
    return "\n".join([*parts, footer])


def _omission(sections: Sequence[Section], limit: int) -> str:
    counts: dict[str, int] = {}
    for section in sections:
        counts[section.label] = counts.get(section.label, 0) + 1
    left_out = ", ".join(f"{label} ({count})" if count > 1 else label for label, count in counts.items())
    return f"*Left out to stay under {limit:,} characters: {left_out}.*\n"
