"""Small signs that recur everywhere: a wait's swatch, evidence dots, shares, durations, copy buttons."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.findings import EvidenceLevel, Finding
from stallscope.model.units import duration
from stallscope.views.families import family_of
from stallscope.views.overview import EVIDENCE_STEPS
from stallscope.views.text import printable
from stallscope_dashboard.components.attributes import HIDDEN, data

_EVIDENCE_MEANING: dict[EvidenceLevel, str] = {
    "indicated": "one signal points to it",
    "supported": "two independent tables agree and the look-alikes are excluded",
    "confirmed": "an intervention was measured",
}


def swatch(wait: str) -> Component:
    """Colour, pattern and letter of a wait's family."""
    found = family_of(wait)
    return html.Span(
        found.letter,
        className=f"swatch fam-{found.key} pat-{found.pattern}",
        title=found.label,
        **HIDDEN,
    )


def wait_name(wait: str) -> Component:
    """A wait id with its swatch."""
    return html.Span([swatch(wait), html.Code(wait, className="wait-id")], className="wait-name")


def evidence(level: EvidenceLevel) -> Component:
    """Evidence level as dots and a word."""
    filled = EVIDENCE_STEPS[level]
    dots = "●" * filled + "○" * (3 - filled)
    return html.Span(
        [html.Span(dots, className="dots", **HIDDEN), html.Span(level)],
        className=f"evidence evidence-{level}",
        title=_EVIDENCE_MEANING[level],
    )


def recoverable(finding: Finding) -> str:
    """`120 ms – 400 ms`, or a dash where a note promises nothing."""
    low, high = finding.recoverable_ns.low, finding.recoverable_ns.high
    if high == 0:
        return "–"
    return duration(high) if low == high else f"{duration(low)} – {duration(high)}"


def trace_name(text: str, limit: int | None = None) -> Component:
    """Text from a trace, made printable; the whole of it as a tooltip when it is cut."""
    return html.Code(printable(text, limit), className="trace-name", title=printable(text, 2_000))


def copy_button(text: str, label: str) -> Component:
    """A button that puts a text on the clipboard (assets/copy.js)."""
    return html.Button(
        [html.Span(className="icon icon-copy", **HIDDEN), label],
        className="button button-copy",
        type="button",
        **data(copy=text),
    )
