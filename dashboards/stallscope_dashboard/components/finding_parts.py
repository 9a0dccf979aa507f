"""The parts of a finding: evidence, places, spans, experiments, caveats, the wait's own page."""

from __future__ import annotations

from dash import dcc, html
from dash.development.base_component import Component

from stallscope.model.findings import Evidence, Finding, Place
from stallscope.model.units import duration, quantity
from stallscope.views.pages import wait_pages
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.experiment import experiment_card
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.marks import trace_name
from stallscope_dashboard.components.tables import panel, row, table

MAX_SPANS = 12
_BORROWED = "the launching thread had no range open; this one was open on another thread at that moment"


def evidence_panel(finding: Finding) -> Component:
    """Every number with the table of the export it comes from."""
    rows = [_evidence(item) for item in finding.evidence]
    return panel(
        "Evidence",
        "Each number, and the table of the export where it stands.",
        table("Evidence", ("what", "value", "from"), rows, numbers=(1,)),
    )


def _evidence(item: Evidence) -> Component:
    source = html.Code(item.source, className="dim")
    return row(printable(item.label, 300), quantity(item.value, item.unit), source, numbers=(1,))


def places_panel(finding: Finding, run: str | None) -> Component | None:
    """Where in the program the wait happens."""
    if not finding.where:
        return None
    scale = max(place.wait_ns for place in finding.where) or 1
    rows = [_place(place, finding.wait, scale, run) for place in finding.where]
    heading = ("place", "operation after", "launched by", "thread", "times", "cost")
    return panel("Where", "The places that cost most.", table("Places", heading, rows, numbers=(3, 4)))


def _place(place: Place, wait: str, scale: int, run: str | None) -> Component:
    path = " / ".join(place.nvtx)
    shown = trace_name(path, 120) if path else html.Span("outside any range", className="dim")
    there = link(shown, urls.waits(run, wait=wait, q=path or place.kernel or place.api or ""))
    borrowed = html.Span("by time", className="tag", title=_BORROWED) if place.nvtx_by == "time" else None
    bar = html.Span(className="cost-bar", style={"width": f"{100 * place.wait_ns / scale:.1f}%"})
    return row(
        [there, borrowed],
        trace_name(place.kernel, 48) if place.kernel else "–",
        html.Code(printable(place.api, 80)) if place.api else "–",
        str(place.thread) if place.thread is not None else "–",
        f"{place.count:,}",
        html.Div(
            [
                html.Span(duration(place.wait_ns), className="number"),
                html.Span(bar, className="cost-bars", **HIDDEN),
            ],
            className="cost",
        ),
        numbers=(3, 4),
    )


def spans_panel(finding: Finding, run: str | None, first_ns: int) -> Component | None:
    """The longest instances as links to the timeline; times count from `first_ns`."""
    if not finding.spans:
        return None
    longest = sorted(finding.spans, key=lambda span: span[0] - span[1])[:MAX_SPANS]
    entries = [html.Li(_span(span, finding.wait, run, first_ns)) for span in longest]
    return panel("Longest ones", "Each opens the timeline there.", html.Ul(entries, className="span-list"))


def _span(span: tuple[int, int], wait: str, run: str | None, first_ns: int) -> Component:
    low, high = span
    length = html.Span(duration(high - low), className="number")
    place = html.Span(f"at {(low - first_ns) / 1e6:,.3f} ms", className="dim number")
    return link([length, place], urls.timeline(run, span, wait))


def experiments_panel(finding: Finding) -> Component:
    """What to try, one change each."""
    if not finding.experiments:
        return panel("Experiments", "", html.P("This finding explains; there is nothing to change.", className="dim"))
    cards = (experiment_card(experiment) for experiment in finding.experiments)
    return panel("Experiments", "One change each, the first one first.", *cards)


def caveats_panel(finding: Finding) -> Component | None:
    """When the finding may be wrong."""
    if not finding.caveats:
        return None
    caveats = html.Ul([html.Li(printable(text, 1_000)) for text in finding.caveats], className="caveats")
    return panel("When this may be wrong", "", caveats)


def docs_panel(wait: str) -> Component | None:
    """The page of the wait class, folded."""
    page = wait_pages().get(wait)
    if page is None:
        return None
    text = dcc.Markdown(page.read_text("utf-8"), className="prose")
    return html.Section(html.Details([html.Summary(html.H2(f"About {wait}")), text]), className="panel")
