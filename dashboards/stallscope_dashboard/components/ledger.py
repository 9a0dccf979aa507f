"""Where the time of each device went: one patterned bar a device and the table behind it."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.analysis import Analysis
from stallscope.model.units import duration, share
from stallscope.views.families import family_of, is_wait
from stallscope.views.overview import Account, Segment, accounts, sums, totals
from stallscope_dashboard import urls
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.marks import wait_name


def ledger_panel(analysis: Analysis, run: str | None) -> Component:
    """The bars of all devices over the table of totals."""
    title = html.Header(
        [
            html.H2("Where the time went"),
            html.P("Every nanosecond of a window has exactly one owner.", className="hint"),
        ]
    )
    bars = html.Div([_bar(account, run) for account in accounts(analysis)], className="ledger-bars")
    return html.Section([title, bars, _table(analysis, run)], className="panel panel-ledger")


def _bar(account: Account, run: str | None) -> Component:
    device = account.device
    busy = device.busy_ns / device.window_ns if device.window_ns else 0.0
    facts = (device.name, duration(device.window_ns), f"busy {share(busy)}")
    segments = [_segment(segment, run, device.device) for segment in account.segments]
    return html.Div(
        [
            html.Div(
                [html.Strong(account.title), *(html.Span(fact) for fact in facts if fact)], className="ledger-title"
            ),
            # The table below says the same in text, so the bar is for the eye and the mouse only.
            html.Div(segments, className="ledger-bar", **HIDDEN),
        ],
        className="ledger-device",
    )


def _segment(segment: Segment, run: str | None, device: str) -> Component:
    family = family_of(segment.wait)
    return link(
        family.letter if segment.share > 0.03 else "",
        urls.waits(run, wait=segment.wait, device=device),
        className=f"ledger-segment fam-{family.key} pat-{family.pattern}",
        title=f"{segment.wait}: {duration(segment.time_ns)}, {share(segment.share)}",
        style={"flexGrow": str(segment.share)},
        tabIndex="-1",
    )


def _table(analysis: Analysis, run: str | None) -> Component:
    whole = sums(analysis)
    heading = ("owner", "time", "share", "")
    rows = [_row(wait, ns, whole.share(ns), run) for wait, ns in totals(analysis)]
    last = html.Tr(
        [html.Th("window", scope="row"), _figure(duration(whole.window_ns)), _figure("100 %"), html.Td()],
        className="row-total",
    )
    return html.Table(
        [
            html.Caption("Time by owner over all devices", className="visually-hidden"),
            html.Thead(html.Tr([_title(text) for text in heading])),
            html.Tbody([*rows, last]),
        ],
        className="table table-ledger",
    )


def _title(text: str) -> Component:
    return html.Th(text, scope="col", className="" if text == "owner" else "number") if text else html.Td()


def _row(wait: str, time_ns: int, ratio: float, run: str | None) -> Component:
    family = family_of(wait)
    bar = html.Span(className=f"share-bar fam-{family.key}", style={"width": f"{100 * ratio:.2f}%"})
    return html.Tr(
        [
            html.Th(link(wait_name(wait), urls.waits(run, wait=wait)), scope="row"),
            _figure(duration(time_ns)),
            _figure(share(ratio)),
            html.Td(bar, className="share-cell", **HIDDEN),
        ],
        className="row-wait" if is_wait(wait) else "row-work",
    )


def _figure(text: str) -> Component:
    return html.Td(text, className="number")
