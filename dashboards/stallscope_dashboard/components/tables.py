"""Panels and plain tables."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

Cell = Component | str | Sequence[Component | str | None] | None


def panel(title: str, hint: str, *content: Component | None) -> Component:
    """A titled box."""
    heading = [html.H2(title), html.P(hint, className="hint") if hint else None]
    return html.Section([html.Header(heading), *content], className="panel")


def table(caption: str, heading: Sequence[str], rows: Sequence[Component], numbers: Sequence[int] = ()) -> Component:
    """A table whose caption is for screen readers; `numbers` are the right-aligned columns."""
    titles = [
        html.Th(text, scope="col", className="number" if i in numbers else "") if text else html.Td()
        for i, text in enumerate(heading)
    ]
    return html.Table(
        [html.Caption(caption, className="visually-hidden"), html.Thead(html.Tr(titles)), html.Tbody(rows)],
        className="table",
    )


def row(name: Cell, *cells: Cell, numbers: Sequence[int] = (), look: str = "") -> Component:
    """A row with its heading; `numbers` counts the heading as column 0."""
    return html.Tr(
        [
            html.Th(name, scope="row"),
            *(html.Td(cell, className="number" if i in numbers else "") for i, cell in enumerate(cells, start=1)),
        ],
        className=look,
    )
