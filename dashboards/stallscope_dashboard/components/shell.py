"""The frame around every page: navigation, choice of the run, search, theme, help."""

from __future__ import annotations

from dash import dcc, html
from dash.development.base_component import Component

from stallscope.views.text import printable
from stallscope_dashboard import ids, urls
from stallscope_dashboard.components.attributes import HIDDEN, aria, data
from stallscope_dashboard.components.links import link
from stallscope_dashboard.urls import View
from stallscope_dashboard.workspace import STAGE_TEXT, Run, Stage, Workspace

POLL_MS = 400


def frame() -> Component:
    """What stays while pages come and go."""
    return html.Div(
        [
            dcc.Location(id=ids.URL, refresh="callback-nav"),
            dcc.Interval(id=ids.POLL, interval=POLL_MS),
            dcc.Store(id=ids.RENDERED),
            html.A("Skip to content", href=f"#{ids.CONTENT}", className="skip-link"),
            html.Header(id=ids.NAVIGATION, className="topbar"),
            html.Main(id=ids.CONTENT, tabIndex="-1"),
        ],
        className="frame",
    )


def navigation(workspace: Workspace, view: View, pages: tuple[tuple[str, str], ...]) -> list[Component]:
    """Content of the top bar for the page that is shown."""
    run = workspace.run(view.run)
    tabs = [
        link(title, urls.page(path, view.run), className="tab", **(aria(current="page") if path == view.path else {}))
        for path, title in pages
    ]
    return [
        link(
            [html.Span(className="logo", **HIDDEN), "stallscope"],
            urls.page("/", view.run),
            className="brand",
        ),
        html.Nav(tabs, className="tabs", **aria(label="Pages")),
        _run_menu(workspace, run, view),
        html.Div(
            [
                _tool("palette", "Go to…", "⌘K"),
                _tool("keys", "Keyboard", "?"),
                _tool("theme", "Light or dark", "◐"),
            ],
            className="tools",
        ),
    ]


def _tool(name: str, label: str, sign: str) -> Component:
    return html.Button(sign, className="tool", type="button", title=label, **data(tool=name), **aria(label=label))


def _run_menu(workspace: Workspace, run: Run | None, view: View) -> Component:
    title = printable(run.title, 60) if run else "unknown run"
    if len(workspace.runs) == 1:
        return html.Span(title, className="run-title", title=title)
    return html.Details(
        [
            html.Summary([html.Span(title), html.Span(f"{len(workspace.runs)} runs", className="dim")]),
            html.Ul([_run_entry(other, view, run) for other in workspace.runs]),
        ],
        className="run-menu",
    )


def _run_entry(other: Run, view: View, current: Run | None) -> Component:
    state = "" if other.stage is Stage.READY else STAGE_TEXT[other.stage]
    path = "/" if view.path.startswith("/finding") else view.path
    mark = aria(current="true") if other is current else {}
    return html.Li(
        link(
            [html.Span(printable(other.title, 80)), html.Span(state, className="dim")],
            urls.page(path, other.slug),
            **mark,
        )
    )
