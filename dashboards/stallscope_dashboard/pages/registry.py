"""Which page stands at which address; a page that fails to draw says so and costs nothing else."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from dash.development.base_component import Component

from stallscope_dashboard.components import states
from stallscope_dashboard.pages import compare, experiments, finding, kernels, overview, ranks, timeline, waits
from stallscope_dashboard.pages.request import PageRequest
from stallscope_dashboard.urls import View
from stallscope_dashboard.workspace import Stage, Workspace

Layout = Callable[[PageRequest], Component]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """A page, its address and its name in the top bar."""

    path: str
    title: str
    layout: Layout


PAGES: tuple[Page, ...] = tuple(
    Page(module.PATH, module.TITLE, module.layout)
    for module in (overview, timeline, waits, kernels, ranks, compare, experiments)
)
FINDING = Page(finding.PREFIX, finding.TITLE, finding.layout)
NAVIGATION: tuple[tuple[str, str], ...] = tuple((page.path, page.title) for page in PAGES)


def content(workspace: Workspace, view: View) -> Component:
    """What the address shows now: the page, or why it cannot be shown yet or at all."""
    page = page_at(view.path)
    run = workspace.run(view.run)
    if page is None:
        return states.empty("There is no such page", "The pages are listed above.")
    if run is None:
        return states.empty("There is no such run", "The link is from another session; choose a run above.")
    workspace.want(run)
    if run.stage is Stage.FAILED and run.failure is not None:
        return states.failed(run.failure)
    if run.loaded is None:
        return states.loading(run)
    try:
        return page.layout(PageRequest(view, run.loaded, workspace))
    except Exception as error:  # noqa: BLE001 - the page says so and the other pages still work
        _log.exception("page %s", page.path)
        return states.broken(page.title, error)


def page_at(path: str) -> Page | None:
    """The page of an address; findings have an address each."""
    if path.startswith(FINDING.path):
        return FINDING
    return next((page for page in PAGES if page.path == path), None)
