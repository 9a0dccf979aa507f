"""Trace health: what was recorded, what is missing and the flag that would add it, what each rule answered."""

from __future__ import annotations

from collections.abc import Iterable

from dash import html
from dash.development.base_component import Component

from stallscope.model.analysis import Analysis
from stallscope.model.findings import Check
from stallscope.views.health import HealthRow, checks_by_outcome, health
from stallscope.views.text import printable
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.marks import copy_button, wait_name

_OUTCOMES = {
    "found": "found something",
    "clean": "looked and found nothing",
    "not_applicable": "could not look: data missing",
    "failed": "failed",
}
_SIGNS = {"recorded": "✓", "missing": "–", "unknown": "?"}


def banners(analysis: Analysis, notes: Iterable[str]) -> list[Component]:
    """What happened while loading, and notes about the capture that limit what can be claimed."""
    found: list[Component] = [html.P(note, className="banner", role="note") for note in notes]
    for note in analysis.capture.notes:
        text: list[Component | str] = [html.Code(note.id, className="wait-id"), printable(note.message, 600)]
        found.append(html.P(text, className="banner", role="note"))
    return found


def health_panel(analysis: Analysis) -> Component:
    """Kinds of events and rules' answers, side by side."""
    rows = health(analysis)
    recorded = html.Table(
        [
            html.Caption("What the trace contains", className="visually-hidden"),
            html.Thead(html.Tr([html.Th(text, scope="col") for text in ("event", "tells", "in this trace")])),
            html.Tbody([_row(row) for row in rows]),
        ],
        className="table table-health",
    )
    body = recorded if rows else html.P("The report does not say what was collected.", className="dim")
    return html.Section(
        [
            html.Header(
                [
                    html.H2("Trace health"),
                    html.P("What was recorded, and the flag that adds what is missing.", className="hint"),
                ]
            ),
            body,
        ],
        className="panel panel-health",
    )


def checks_panel(analysis: Analysis) -> Component:
    """What every rule answered; "clean" and "could not look" are different answers."""
    groups = checks_by_outcome(analysis)
    return html.Section(
        [
            html.Header(
                [html.H2("Rules"), html.P(f"{len(analysis.checks)} wait classes were looked for.", className="hint")]
            ),
            *(_group(outcome, checks) for outcome, checks in groups.items()),
        ],
        className="panel panel-checks",
    )


def _row(row: HealthRow) -> Component:
    state = [
        html.Span(_SIGNS[row.state], className="sign", **HIDDEN),
        html.Span(row.detail or row.state),
    ]
    missing = [html.Code(row.flag, className="flag"), copy_button(row.flag, "copy")] if row.flag else []
    return html.Tr(
        [html.Th(row.label, scope="row"), html.Td(row.use, className="dim"), html.Td([*state, *missing])],
        className=f"health-{row.state}",
    )


def _group(outcome: str, checks: tuple[Check, ...]) -> Component:
    return html.Details(
        [
            html.Summary(
                [
                    html.Span(_OUTCOMES[outcome], className=f"outcome outcome-{outcome}"),
                    html.Span(f"{len(checks)}", className="count"),
                ]
            ),
            html.Ul(
                [html.Li([wait_name(c.wait), html.Span(printable(c.reason, 400), className="dim")]) for c in checks]
            ),
        ],
        className="check-group",
        open=outcome == "failed",
    )
