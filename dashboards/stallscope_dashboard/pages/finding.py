"""Finding: one wait in full, from its size to the experiment that would prove it."""

from __future__ import annotations

from urllib.parse import unquote

from dash import html
from dash.development.base_component import Component

from stallscope.model.findings import Finding
from stallscope.model.units import duration, share
from stallscope.views.overview import ranked
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.components import finding_parts as parts
from stallscope_dashboard.components.links import button_link, link
from stallscope_dashboard.components.marks import copy_button, evidence, recoverable, swatch
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.pages.request import PageRequest

PREFIX = "/finding/"
TITLE = "Finding"
_BESIDE = " This wait lies behind a busy device, so the ledger does not charge it."


def layout(request: PageRequest) -> Component:
    """The finding whose id or wait id stands at the end of the address."""
    wanted = unquote(request.view.path.removeprefix(PREFIX))
    finding = next((f for f in request.analysis.findings if wanted in {f.id, f.wait}), None)
    if finding is None:
        return empty(
            f"This run has no finding {printable(wanted, 60)}",
            "Findings below 1 % of the window are not told. The link may also be from another trace.",
            link("The findings of this run are on the overview.", urls.page("/", request.run)),
        )
    lanes = request.loaded.lanes
    first_ns = lanes.span_ns[0] if lanes else min((low for low, _ in finding.spans), default=0)
    left = (
        parts.evidence_panel(finding),
        parts.places_panel(finding, request.run),
        parts.spans_panel(finding, request.run, first_ns),
    )
    right = (parts.experiments_panel(finding), parts.caveats_panel(finding), parts.docs_panel(finding.wait))
    columns = [html.Div([part for part in side if part is not None]) for side in (left, right)]
    return html.Div(
        [_head(finding, request), html.Div(columns, className="columns columns-finding")], className="page page-finding"
    )


def _head(finding: Finding, request: PageRequest) -> Component:
    tiles = (
        ("cost", duration(finding.wait_ns)),
        ("share of window", share(finding.share)),
        ("recoverable", recoverable(finding)),
        ("times", f"{finding.count:,}"),
        ("devices", ", ".join(finding.devices)),
    )
    marks = [
        html.Code(finding.wait, className="wait-id"),
        evidence(finding.evidence_level),
        html.Code(finding.id, className="dim"),
    ]
    assumes = ["Recoverable assumes: ", finding.recoverable_ns.assumes, "" if finding.ledger else _BESIDE]
    return html.Div(
        [
            html.Nav(_neighbours(finding, request), className="crumbs"),
            html.H1([swatch(finding.wait), finding.title], className="headline headline-finding"),
            html.Div(marks, className="finding-ids"),
            html.Dl([_tile(*tile) for tile in tiles], className="tiles"),
            html.P(assumes, className="assumes"),
            html.Div(_tools(finding, request.run), className="sel-tools"),
        ],
        className="hero",
    )


def _tile(label: str, value: str) -> Component:
    return html.Div([html.Dt(label), html.Dd(value)], className="tile")


def _tools(finding: Finding, run: str | None) -> list[Component]:
    longest = max(finding.spans, key=lambda span: span[1] - span[0], default=None)
    tools = [button_link("Every one of them", urls.waits(run, wait=finding.wait))]
    if longest is not None:
        tools.insert(0, button_link("Longest on the timeline", urls.timeline(run, longest, finding.wait)))
    return [*tools, copy_button(f"stallscope explain {finding.wait}", "Copy command")]


def _neighbours(finding: Finding, request: PageRequest) -> list[Component]:
    """The findings before and after this one in the order of the overview."""
    costly, notes = ranked(request.analysis)
    order = (*costly, *notes)
    here = order.index(finding)
    around = [link("All findings", urls.page("/", request.run))]
    if here > 0:
        around.append(link(f"◂ {order[here - 1].wait}", urls.finding(request.run, order[here - 1].id)))
    if here + 1 < len(order):
        around.append(link(f"{order[here + 1].wait} ▸", urls.finding(request.run, order[here + 1].id)))
    return [*around, html.Span(f"{here + 1} of {len(order)}", className="dim")]
