"""Links between pages: plain anchors that assets/navigate.js follows without reloading the page."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from stallscope_dashboard.components.attributes import data

Children = Any


def link(children: Children, href: str, **attributes: Any) -> Component:
    """An anchor to another page of the dashboard."""
    return html.A(children, href=href, **data(spa="true"), **attributes)


def button_link(children: Children, href: str, **attributes: Any) -> Component:
    """A link that looks like a small button."""
    return link(children, href, className="button", **attributes)
