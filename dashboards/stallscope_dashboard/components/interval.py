"""One interval in words: what happened, its facts, and links to the timeline."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.units import duration
from stallscope.views.families import family
from stallscope.views.interval_detail import IntervalDetail, Link
from stallscope.views.lanes import LaneTable
from stallscope_dashboard import urls
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.links import button_link, link
from stallscope_dashboard.components.marks import copy_button


def interval_panel(detail: IntervalDetail, table: LaneTable, run: str | None) -> Component:
    """The panel below the waits table."""
    look = family(detail.family)
    length = duration(detail.high_ns - detail.low_ns)
    head = html.Header(
        [
            html.Span(look.letter, className=f"swatch fam-{look.key} pat-{look.pattern}", **HIDDEN),
            html.Strong(detail.title, className="sel-title"),
            html.Span(length, className="sel-time number"),
            html.Span(detail.place, className="dim"),
        ],
        className="sel-head",
    )
    here = urls.timeline(run, (detail.low_ns, detail.high_ns), selection=_selection(table, detail.lane, detail.index))
    tools = html.Div(
        [button_link("Show on the timeline", here), copy_button(f"stallscope explain {detail.wait}", "Copy command")],
        className="sel-tools",
    )
    links = html.Ul([_link(entry, table, run) for entry in detail.links], className="sel-links")
    facts = html.Dl(
        [part for fact in detail.facts for part in (html.Dt(fact.label), html.Dd(fact.value))], className="facts"
    )
    main = html.Div([head, html.P(detail.sentence, className="sel-sentence"), links, tools], className="sel-main")
    return html.Div([main, facts], className="sel")


def _link(entry: Link, table: LaneTable, run: str | None) -> Component:
    where = urls.timeline(run, (entry.low_ns, entry.high_ns), selection=_selection(table, entry.lane, entry.index))
    return html.Li(
        [
            html.Span(entry.role, className="sel-role"),
            link(entry.title, where, className="sel-link"),
            html.Span(duration(entry.high_ns - entry.low_ns), className="dim number"),
        ]
    )


def _selection(table: LaneTable, lane: int, index: int) -> str:
    return f"{table.lanes[lane].key}:{index}"
