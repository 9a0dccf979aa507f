"""The ranked list of findings: what it costs, what removing it is worth, how sure we are."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.findings import Finding
from stallscope.model.units import duration, share
from stallscope.views.families import family_of
from stallscope_dashboard import urls
from stallscope_dashboard.components.attributes import HIDDEN, aria
from stallscope_dashboard.components.links import button_link, link
from stallscope_dashboard.components.marks import evidence, recoverable, wait_name


def findings_table(findings: tuple[Finding, ...], run: str | None) -> Component:
    """One row a finding, the one worth most first."""
    scale = max((f.wait_ns for f in findings), default=1) or 1
    heading = ("wait", "cost", "share", "recoverable", "evidence", "count")
    return html.Table(
        [
            html.Caption("Findings by recoverable time", className="visually-hidden"),
            html.Thead(html.Tr([*(_title(text) for text in heading), html.Td()])),
            html.Tbody([_row(finding, run, scale) for finding in findings]),
        ],
        className="table table-findings",
    )


def _title(text: str) -> Component:
    return html.Th(text, scope="col", className="number" if text in {"share", "recoverable", "count"} else "")


def _row(finding: Finding, run: str | None, scale: int) -> Component:
    what = html.Div(
        [
            link(finding.title, urls.finding(run, finding.id), className="finding-title"),
            html.Div([wait_name(finding.wait), *_marks(finding)], className="finding-sub"),
        ]
    )
    return html.Tr(
        [
            html.Th(what, scope="row"),
            html.Td(
                [html.Span(duration(finding.wait_ns), className="number"), _bars(finding, scale)], className="cost"
            ),
            html.Td(share(finding.share), className="number"),
            html.Td(recoverable(finding), className="number"),
            html.Td(evidence(finding.evidence_level)),
            html.Td(f"{finding.count:,}", className="number"),
            html.Td(_actions(finding, run), className="actions"),
        ]
    )


def _marks(finding: Finding) -> list[Component]:
    marks: list[Component] = [html.Span(", ".join(finding.devices), className="dim")]
    if not finding.ledger:
        marks.append(
            html.Span(
                "beside the ledger", className="tag", title="waits behind a busy device: not charged to the ledger"
            )
        )
    return marks


def _bars(finding: Finding, scale: int) -> Component:
    """Cost as a bar; the part that is surely recoverable solid, the part that may be hatched."""
    family = family_of(finding.wait)
    width, low, high = (
        100 * ns / scale for ns in (finding.wait_ns, finding.recoverable_ns.low, finding.recoverable_ns.high)
    )
    return html.Span(
        [
            html.Span(className="cost-bar", style={"width": f"{width:.2f}%"}),
            html.Span(className=f"cost-high fam-{family.key}", style={"width": f"{high:.2f}%"}),
            html.Span(className=f"cost-low fam-{family.key}", style={"width": f"{low:.2f}%"}),
        ],
        className="cost-bars",
        **HIDDEN,
    )


def _actions(finding: Finding, run: str | None) -> list[Component]:
    span = max(finding.spans, key=lambda s: s[1] - s[0], default=None)
    waits = urls.waits(run, wait=finding.wait)
    actions: list[Component] = [button_link("waits", waits, **aria(label=f"every {finding.wait}"))]
    if span is not None:
        where = urls.timeline(run, span, finding.wait)
        actions.insert(0, button_link("timeline", where, **aria(label=f"longest {finding.wait} on the timeline")))
    return actions


def notes_list(notes: tuple[Finding, ...], run: str | None) -> Component:
    """Findings that explain and cost nothing."""
    return html.Ul(
        [
            html.Li(
                [
                    wait_name(note.wait),
                    link(note.title, urls.finding(run, note.id)),
                    html.Span(f"× {note.count:,}", className="dim"),
                ]
            )
            for note in notes
        ],
        className="notes",
    )
