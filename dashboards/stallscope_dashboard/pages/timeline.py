"""Timeline: every interval of the trace; all drawing happens in assets/timeline-*.js."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope_dashboard import ids, urls
from stallscope_dashboard.components.attributes import data
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.pages.request import PageRequest

PATH = "/timeline"
TITLE = "Timeline"


def layout(request: PageRequest) -> Component:
    """The element that the scripts fill, or why there is nothing to draw."""
    if request.loaded.lanes is None:
        return empty(
            "A saved report has no timeline",
            "It holds conclusions, not events. Open the trace itself to see them in time.",
            link("Its findings are on the overview.", urls.page("/", request.run)),
        )
    if not len(request.loaded.lanes):
        return empty(
            "Nothing was recorded on this trace's timeline",
            "The trace has no kernels, copies, API calls or ranges. Trace health on the overview names the flags.",
        )
    return html.Div(
        html.Div(id=ids.TIMELINE, className="timeline", **data(run=request.run or "")), className="page page-timeline"
    )
