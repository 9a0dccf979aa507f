"""Where the command palette can go."""

from __future__ import annotations

import msgspec
from flask import Blueprint, Response, request

from stallscope.model.units import duration
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.pages.registry import NAVIGATION
from stallscope_dashboard.workspace import Run, Workspace


class Place(msgspec.Struct, frozen=True):
    """One entry of the palette."""

    title: str
    note: str
    href: str


def places_routes(workspace: Workspace) -> Blueprint:
    """/api/places."""
    routes = Blueprint("places", __name__, url_prefix="/api")

    @routes.get("/places")
    def places() -> Response:
        slug = request.args.get("run") or None
        found = [Place(title, "page", urls.page(path, slug)) for path, title in NAVIGATION]
        run = workspace.run(slug)
        if run is not None:
            found += _of_run(run, slug)
        others = [other for other in workspace.runs if other is not run]
        found += [Place(printable(other.title, 120), "run", urls.page("/", other.slug)) for other in others]
        return Response(msgspec.json.encode(found), mimetype="application/json")

    return routes


def _of_run(run: Run, slug: str | None) -> list[Place]:
    if run.loaded is None:
        return []
    findings = run.loaded.analysis.findings
    found = [Place(f"{f.wait}: {f.title}", duration(f.wait_ns), urls.finding(slug, f.id)) for f in findings]
    if run.loaded.rows is not None:
        totals = run.loaded.rows.totals()
        found += [Place(f"every {t.wait}", f"{t.count:,} waits", urls.waits(slug, wait=t.wait)) for t in totals]
    return found
