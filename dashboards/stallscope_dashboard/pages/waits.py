"""Waits: every wait of the run as a table, the equivalent of the timeline for keyboard and screen reader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from stallscope.model.units import duration
from stallscope.views.charge_query import ChargeRows, WaitTotal, conditions_of, parse_query
from stallscope.views.interval_detail import interval_detail
from stallscope_dashboard import ids, urls
from stallscope_dashboard.components.attributes import HIDDEN, aria, data
from stallscope_dashboard.components.interval import interval_panel
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.marks import wait_name
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.components.waits_grid import waits_grid
from stallscope_dashboard.pages.request import PageRequest
from stallscope_dashboard.urls import View
from stallscope_dashboard.workspace import Loaded, Workspace

PATH = "/waits"
TITLE = "Waits"
_KEPT = ("wait", "device", "q", "from", "to")


def layout(request: PageRequest) -> Component:
    """Classes at the left, the table, and the chosen wait below it."""
    view, loaded = request.view, request.loaded
    if loaded.rows is None:
        return empty(
            "A saved report has no list of single waits",
            "It holds findings with their largest places. Open the trace itself to list every wait.",
            link("Its findings are on the overview.", urls.page("/", view.run)),
        )
    totals = loaded.rows.totals()
    if not totals:
        return empty("No device waited", "The ledgers of this trace charge no time to any wait.")
    query = parse_query(view.parameters)
    side = [html.H2("Wait classes"), _facets(view, totals), *_narrowed(view, loaded)]
    grid = html.Div(waits_grid(query.sort, view.parameters.get("filter", "")), className="waits-table")
    detail = html.Section(
        html.P("Choose a row to see what happened around that wait.", className="panel-hint"),
        id=ids.WAITS_DETAIL,
        className="waits-detail",
        **aria(label="Chosen wait", live="polite"),
    )
    return html.Div(
        [
            html.H1("Waits", className="visually-hidden"),
            html.Aside(side, className="waits-side"),
            html.Div([_toolbar(view), grid, detail], className="waits-main"),
        ],
        className="page page-waits",
    )


def _facets(view: View, totals: tuple[WaitTotal, ...]) -> Component:
    chosen = view.parameters.get("wait", "")
    whole = (sum(t.count for t in totals), sum(t.total_ns for t in totals))
    entries = [_facet(view, html.Span("all waits"), "", whole, chosen)]
    entries += [_facet(view, wait_name(t.wait), t.wait, (t.count, t.total_ns), chosen) for t in totals]
    return html.Ul(entries, className="facets")


def _facet(view: View, label: Component, wait: str, figures: tuple[int, int], chosen: str) -> Component:
    count, total_ns = figures
    parts = [label, html.Span(f"{count:,}", className="number dim"), html.Span(duration(total_ns), className="number")]
    return html.Li(link(parts, _address(view, wait=wait), **(aria(current="true") if wait == chosen else {})))


def _narrowed(view: View, loaded: Loaded) -> list[Component]:
    """What else narrows the table, each with the link that lifts it."""
    first = loaded.lanes.span_ns[0] if loaded.lanes else 0
    query = parse_query(view.parameters)
    chips = []
    if query.device:
        chips.append((f"device {query.device}", {"device": ""}))
    if query.low_ns is not None or query.high_ns is not None:
        ends = [duration(t - first) if t is not None else "…" for t in (query.low_ns, query.high_ns)]
        chips.append((f"from {ends[0]} to {ends[1]}", {"from": "", "to": ""}))
    links = [_chip(text, _address(view, **lift)) for text, lift in chips]
    return [html.H2("Only"), html.Div(links, className="chips")] if links else []


def _chip(text: str, lifted: str) -> Component:
    cross = html.Span("✕", **HIDDEN)
    return link([html.Span(text), cross], lifted, className="chip", title="Show without this filter")


def _toolbar(view: View) -> Component:
    hint = "Search in every column"
    search = dcc.Input(
        id=ids.WAITS_FILTER, type="search", value=view.parameters.get("q", ""), debounce=0.3, placeholder=hint
    )
    export = html.A(
        "Export CSV", href="/api/waits.csv", className="button", download="waits.csv", **data(export="waits")
    )
    return html.Div(
        [
            html.Label(hint, htmlFor=ids.WAITS_FILTER, className="visually-hidden"),
            search,
            html.Span(id=ids.WAITS_COUNT, className="dim number", role="status"),
            export,
        ],
        className="waits-bar",
    )


def _address(view: View, **changes: str) -> str:
    kept = {key: view.parameters[key] for key in _KEPT if key in view.parameters}
    return urls.waits(view.run, **{**kept, **changes})


def register(app: Dash, workspace: Workspace) -> None:
    """Rows of the table, and the panel of the chosen one."""

    @app.callback(
        Output(ids.WAITS_GRID, "getRowsResponse"),
        Output(ids.WAITS_COUNT, "children"),
        Input(ids.WAITS_GRID, "getRowsRequest"),
        State(ids.WAITS_FILTER, "value"),
        State(ids.URL, "pathname"),
        State(ids.URL, "search"),
        prevent_initial_call=True,
    )
    def rows(request: Mapping[str, Any] | None, text: str | None, path: str, search: str) -> tuple[Any, Any]:
        view = View.parse(path, search)
        found = _rows_of(workspace, view)
        if request is None or found is None:
            return no_update, no_update
        conditions = conditions_of(request.get("filterModel") or {})
        query = parse_query({**view.parameters, "q": text or "", **_sort(request)}, conditions)
        matching = found.matching(query)
        page = found.page(matching[int(request["startRow"]) : int(request["endRow"])])
        figures = f"{len(matching):,} waits, {duration(found.time_ns(matching))}"
        return {"rowData": page, "rowCount": len(matching)}, figures

    # The URL follows the grid, and the grid asks again when the text changes (assets/dashAgGridFunctions.js).
    for function, component, value in (
        ("gridAsked", ids.WAITS_GRID, "getRowsRequest"),
        ("textChanged", ids.WAITS_FILTER, "value"),
    ):
        app.clientside_callback(  # type: ignore[no-untyped-call]
            ClientsideFunction("stallscope", function), Input(component, value), prevent_initial_call=True
        )

    @app.callback(
        Output(ids.WAITS_DETAIL, "children"),
        Input(ids.WAITS_GRID, "selectedRows"),
        State(ids.URL, "pathname"),
        State(ids.URL, "search"),
        prevent_initial_call=True,
    )
    def chosen(selected: list[dict[str, Any]] | None, path: str, search: str) -> Any:
        view = View.parse(path, search)
        run = workspace.run(view.run)
        table = run.loaded.lanes if run and run.loaded else None
        if not selected or table is None:
            return no_update
        key, _, index = str(selected[0]["place"]).rpartition(":")
        detail = interval_detail(table, table.positions.get(key, -1), int(index or 0))
        return interval_panel(detail, table, view.run) if detail else no_update


def _sort(request: Mapping[str, Any]) -> dict[str, str]:
    model = request.get("sortModel") or []
    return {"sort": f"{model[0]['colId']}:{model[0]['sort']}"} if model else {}


def _rows_of(workspace: Workspace, view: View) -> ChargeRows | None:
    run = workspace.run(view.run)
    return run.loaded.rows if run and run.loaded else None
