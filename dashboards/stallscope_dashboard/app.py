"""Builds the Dash application: frame, router, page callbacks, data routes, protection."""

from __future__ import annotations

import logging
from functools import lru_cache
from pathlib import Path
from typing import Any

from dash import Dash, Input, Output, State, no_update
from dash.development.base_component import Component

from stallscope_dashboard import ids
from stallscope_dashboard.components import shell
from stallscope_dashboard.pages import waits
from stallscope_dashboard.pages.registry import NAVIGATION, content
from stallscope_dashboard.routes.export import export_routes
from stallscope_dashboard.routes.places import places_routes
from stallscope_dashboard.routes.timeline import timeline_routes
from stallscope_dashboard.security import LOOPBACK, Access, protect
from stallscope_dashboard.urls import View
from stallscope_dashboard.workspace import Workspace

_PAGE = """<!DOCTYPE html>
<html lang="en">
    <head>
        {%metas%}
        <title>{%title%}</title>
        {%favicon%}
        {%css%}
    </head>
    <body>
        {%app_entry%}
        <footer>{%config%}{%scripts%}{%renderer%}</footer>
    </body>
</html>"""


def create_app(workspace: Workspace, access: Access = LOOPBACK) -> Dash:
    """The dashboard of a workspace; start the workspace's loading yourself."""
    app = Dash(
        __name__,
        assets_folder=str(Path(__file__).parent / "assets"),
        title="stallscope",
        update_title="",
        index_string=_PAGE,
        suppress_callback_exceptions=True,
        serve_locally=True,
        enable_mcp=False,
        add_log_handler=False,
    )
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app.layout = shell.frame()
    _register_router(app, workspace)
    waits.register(app, workspace)
    for routes in (timeline_routes, export_routes, places_routes):
        app.server.register_blueprint(routes(workspace))

    protect(app.server, access, lru_cache(maxsize=1)(app.csp_hashes))
    return app


def _register_router(app: Dash, workspace: Workspace) -> None:
    """Draw the page of the address; while its run loads, draw it again whenever the stage changes."""

    @app.callback(
        Output(ids.CONTENT, "children"),
        Output(ids.NAVIGATION, "children"),
        Output(ids.RENDERED, "data"),
        Output(ids.POLL, "disabled"),
        Input(ids.URL, "pathname"),
        Input(ids.URL, "search"),
        Input(ids.POLL, "n_intervals"),
        State(ids.RENDERED, "data"),
    )
    def show(
        path: str | None, search: str | None, _polls: int | None, rendered: dict[str, str] | None
    ) -> tuple[Any, ...]:
        view = View.parse(path, search)
        settled = workspace.settled
        shown = _fingerprints(workspace, view)
        before = rendered or {}
        if shown == before:
            return no_update, no_update, no_update, settled
        same_page = shown["page"] == before.get("page")
        bar: list[Component] = shell.navigation(workspace, view, NAVIGATION)
        return no_update if same_page else content(workspace, view), bar, shown, settled


def _fingerprints(workspace: Workspace, view: View) -> dict[str, str]:
    """What the drawn page and the bar above it depend on: the address, and how far the runs are."""
    run = workspace.run(view.run)
    return {
        "page": f"{view}{run.progress if run else None}",
        "bar": f"{view}{[r.stage if r.settled else None for r in workspace.runs]}",
    }
