"""A small plotly chart in the look of the dashboard: colours from the style sheet, nothing sent to anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import dcc, html
from dash.development.base_component import Component

from stallscope.views.families import FAMILIES
from stallscope_dashboard.components.attributes import aria

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_CLEAR = "rgba(0,0,0,0)"
_CONFIG: dict[str, Any] = {
    "displaylogo": False,
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "responsive": True,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}
_COLOURS = ("launch", "copy", "uvm", "sync", "alloc", "dep", "kernel", "init", "comm", "env")


def chart(figure: Figure, label: str, height: int = 420) -> Component:
    """The figure; `label` says to a screen reader what it shows, a table beside it holds the numbers."""
    by_key = {family.key: family.dark for family in FAMILIES}
    figure.update_layout(
        template="none",
        paper_bgcolor=_CLEAR,
        plot_bgcolor=_CLEAR,
        colorway=[by_key[key] for key in _COLOURS],
        font={"family": "inherit", "size": 12},
        height=height,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
        margin_t=90,
        margin_r=20,
    )
    graph = dcc.Graph(
        figure=figure,
        config=_CONFIG,  # type: ignore[arg-type]
        style={"height": f"{height}px"},
    )
    return html.Div(graph, className="chart", role="img", **aria(label=label))
