"""Overview: the answer first, then what it is made of, then what the trace could not tell."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.analysis import UNATTRIBUTED, Analysis
from stallscope.model.units import duration, share
from stallscope.views.headline import headline
from stallscope.views.overview import ranked, step_strip, sums
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.components.findings import findings_table, notes_list
from stallscope_dashboard.components.health import banners, checks_panel, health_panel
from stallscope_dashboard.components.ledger import ledger_panel
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.components.steps import step_panel
from stallscope_dashboard.pages.request import PageRequest

PATH = "/"
TITLE = "Overview"


def layout(request: PageRequest) -> Component:
    """The whole page of one run."""
    analysis = request.analysis
    verdict = headline(analysis)
    steps = [step_panel(step_strip(step), request.run) for step in analysis.steps]
    return html.Div(
        [
            html.Div(
                [html.H1(verdict.sentence, className="headline"), _sources(analysis), _tiles(analysis, request.run)],
                className=f"hero verdict-{verdict.verdict.name.lower()}",
            ),
            *banners(analysis, request.loaded.notes),
            html.Div(
                [
                    html.Div([_findings(analysis, request.run), *steps]),
                    html.Div([ledger_panel(analysis, request.run)] if analysis.devices else []),
                ],
                className="columns columns-overview",
            ),
            html.Div([health_panel(analysis), checks_panel(analysis)], className="columns columns-health"),
        ],
        className="page page-overview",
    )


def _sources(analysis: Analysis) -> Component:
    facts = []
    for source in analysis.sources:
        producer = " · ".join(
            text for text in (source.producer, f"schema {source.schema}" if source.schema else "") if text
        )
        facts.append(html.Li([html.Code(printable(source.name, 120)), html.Span(printable(producer, 120))]))
    return html.Ul(facts, className="sources")


def _tiles(analysis: Analysis, run: str | None) -> Component | None:
    whole = sums(analysis)
    if not whole.devices:
        return None
    costly, _ = ranked(analysis)
    each = f"of {whole.devices} devices, each" if whole.devices > 1 else "first to last operation"
    tiles = [
        ("window", duration(whole.window_ns / whole.devices), each, urls.timeline(run)),
        ("busy", share(whole.share(whole.busy_ns)), "a kernel, copy or memset ran", urls.timeline(run)),
        ("waiting", share(whole.share(whole.waiting_ns)), "charged to a wait, busy or not", urls.waits(run)),
        (
            "unattributed",
            share(whole.share(whole.unattributed_ns)),
            "no rule has evidence for it",
            urls.waits(run, wait=UNATTRIBUTED),
        ),
    ]
    if costly:
        best = costly[0]
        tiles.append(
            ("most recoverable", f"≤ {duration(best.recoverable_ns.high)}", best.wait, urls.finding(run, best.id))
        )
    return html.Dl([_tile(*tile) for tile in tiles], className="tiles")


def _tile(label: str, value: str, meaning: str, href: str) -> Component:
    shown = html.Dd([link(value, href), html.Span(meaning, className="tile-note")])
    return html.Div([html.Dt(label), shown], className="tile")


def _findings(analysis: Analysis, run: str | None) -> Component:
    costly, notes = ranked(analysis)
    title = html.Header(
        [html.H2("Findings"), html.P("Ordered by what removing the wait is worth at most.", className="hint")]
    )
    body = findings_table(costly, run) if costly else _nothing(analysis)
    below = [html.H3("Notes"), notes_list(notes, run)] if notes else []
    return html.Section([title, body, *below], className="panel panel-findings")


def _nothing(analysis: Analysis) -> Component:
    clean = sum(check.outcome == "clean" for check in analysis.checks)
    blind = sum(check.outcome == "not_applicable" for check in analysis.checks)
    return empty(
        "No wait is worth a finding",
        f"{clean} wait classes were looked for and not found above 1 % of the window.",
        f"{blind} could not be looked for: see the rules below for the data they need."
        if blind
        else "Every rule had its data.",
    )
