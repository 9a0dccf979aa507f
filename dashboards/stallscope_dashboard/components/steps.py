"""The strip of step times; slow steps are marked and counted."""

from __future__ import annotations

from urllib.parse import quote

from dash import html
from dash.development.base_component import Component

from stallscope.model.units import duration
from stallscope.views.overview import SLOW_STEP, StepBar, StepStrip
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.components.attributes import HIDDEN
from stallscope_dashboard.components.links import button_link


def step_panel(strip: StepStrip, run: str | None) -> Component:
    """Bars of one repeated range under its name and median."""
    slow = strip.slow_count
    marked = f"{slow} slower than {SLOW_STEP:g} × the median" if slow else "none slower than 1.2 × the median"
    return html.Section(
        [
            html.Header(
                [
                    html.H2(["Steps ", html.Code(printable(strip.name, 60))]),
                    html.P(f"{strip.count} steps · {marked}", className="hint"),
                ]
            ),
            html.Div([_bar(bar, strip.slowest_ns) for bar in strip.bars], className="step-strip", **HIDDEN),
            html.P(
                [
                    html.Span(["median ", html.B(duration(strip.median_ns))]),
                    html.Span(["slowest ", html.B(duration(strip.slowest_ns))]),
                    button_link("on the timeline", f"{urls.timeline(run)}#q={quote(strip.name)}"),
                ],
                className="step-facts",
            ),
        ],
        className="panel panel-steps",
    )


def _bar(bar: StepBar, scale: int) -> Component:
    numbers = f"step {bar.first}" if bar.first == bar.last else f"slowest of steps {bar.first}–{bar.last}"
    return html.Span(
        className="step-bar step-slow" if bar.slow else "step-bar",
        style={"height": f"{100 * bar.time_ns / (scale or 1):.1f}%"},
        title=f"{numbers}: {duration(bar.time_ns)}",
    )
