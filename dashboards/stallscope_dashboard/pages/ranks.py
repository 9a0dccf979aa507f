"""Ranks: a heat map of where each rank's time went, the straggler, and what collectives waited for."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.findings import Finding
from stallscope.model.units import duration, quantity, share
from stallscope.views.families import family_of
from stallscope.views.rank_skew import Skew, SkewCell, SkewRow, cross_rank_findings, skew
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.marks import evidence, swatch, wait_name
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.components.tables import panel, row, table
from stallscope_dashboard.pages.request import PageRequest

PATH = "/ranks"
TITLE = "Ranks"
OUTLIER = 0.03
"""A cell is marked when its share exceeds the median of all ranks by this much of the window."""


def layout(request: PageRequest) -> Component:
    """The heat map, and the findings that several ranks together give."""
    analysis = request.analysis
    if len(analysis.devices) < 2:
        return _one_device(request)
    table_ = skew(analysis)
    findings = cross_rank_findings(analysis)
    return html.Div(
        [html.H1(_headline(table_), className="headline"), _heat(table_, request), *_collectives(findings, request)],
        className="page page-ranks",
    )


def _one_device(request: PageRequest) -> Component:
    together = next((run for run in request.workspace.runs if run.together), None)
    if together is None:
        advice: str | Component = "Give the traces of all ranks: stallscope dashboard rank*.nsys-rep"
    else:
        advice = link(f"Look at {together.title} of one run", urls.page(PATH, together.slug), className="button")
    return empty("Ranks need several traces of one run", "This run has one device.", advice)


def _headline(table_: Skew) -> str:
    marked = [
        (cell.excess, row_.title, wait)
        for row_ in table_.rows
        for cell, wait in zip(row_.cells, table_.waits, strict=True)
    ]
    excess, title, wait = max(marked, default=(0.0, "", ""))
    if excess < OUTLIER:
        return f"{len(table_.rows)} devices spend their time alike"
    return f"{title} differs most: {share(excess)} more of its window in {wait} than the median"


def _heat(table_: Skew, request: PageRequest) -> Component:
    scale = table_.largest_share or 1.0
    heading = [html.Th("device", scope="col"), html.Th("window", scope="col", className="number")]
    heading += [
        html.Th(html.Span([swatch(w), html.Code(w)], className="heat-title"), scope="col") for w in table_.waits
    ]
    rows = [_heat_row(row_, table_.waits, scale, request) for row_ in table_.rows]
    grid = html.Table(
        [
            html.Caption("Share of each device's window by owner", className="visually-hidden"),
            html.Thead(html.Tr(heading)),
            html.Tbody(rows),
        ],
        className="table table-heat",
    )
    hint = "Share of the window by owner. A frame marks a share well above the median of all devices."
    return panel("Where each rank's time went", hint, html.Div(grid, className="scroll-x", tabIndex="0"))


def _heat_row(row_: SkewRow, waits: tuple[str, ...], scale: float, request: PageRequest) -> Component:
    cells = [_cell(cell, wait, row_.device, scale, request) for cell, wait in zip(row_.cells, waits, strict=True)]
    return html.Tr([html.Th(row_.title, scope="row"), html.Td(duration(row_.window_ns), className="number"), *cells])


def _cell(cell: SkewCell, wait: str, device: str, scale: float, request: PageRequest) -> Component:
    look = f"heat fam-{family_of(wait).key}" + (" heat-outlier" if cell.excess >= OUTLIER else "")
    text = share(cell.share) if cell.time_ns else "·"
    there = link(
        text, urls.waits(request.run, wait=wait, device=device), title=f"{device}, {wait}: {duration(cell.time_ns)}"
    )
    strength = f"{100 * min(cell.share / scale, 1) ** 0.6:.0f}%"
    return html.Td(there, className=look, style={"--heat": strength})


def _collectives(findings: tuple[Finding, ...], request: PageRequest) -> list[Component]:
    if not findings:
        text = "No collective made a rank wait for another, or the traces hold no communication kernels."
        return [panel("Collectives", "", html.P(text, className="dim"))]
    return [_collective(finding, request) for finding in findings]


def _collective(finding: Finding, request: PageRequest) -> Component:
    facts = [
        row(printable(e.label, 300), quantity(e.value, e.unit), html.Code(e.source, className="dim"), numbers=(1,))
        for e in finding.evidence
    ]
    places = [
        row(printable(p.kernel or " / ".join(p.nvtx) or "–", 120), f"{p.count:,}", duration(p.wait_ns), numbers=(1, 2))
        for p in finding.where
    ]
    head = html.Div(
        [
            wait_name(finding.wait),
            link(finding.title, urls.finding(request.run, finding.id), className="finding-title"),
            html.Span(duration(finding.wait_ns), className="number"),
            evidence(finding.evidence_level),
        ],
        className="plan-head",
    )
    tables = [table("Evidence", ("what", "value", "from"), facts, numbers=(1,))]
    if places:
        tables.append(table("Collectives", ("collective", "times", "waited"), places, numbers=(1, 2)))
    return panel("Collectives", "", head, html.Div(tables, className="columns columns-half"))
