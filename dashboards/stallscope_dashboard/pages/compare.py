"""Compare: two runs, per wait, with a verdict on every row, or why they cannot be compared."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.analysis import Analysis
from stallscope.model.comparison import Comparison
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.components import comparison as parts
from stallscope_dashboard.components.attributes import aria
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.pages.request import PageRequest
from stallscope_dashboard.recorded import RecordedRun, recorded_analysis, recorded_runs
from stallscope_dashboard.workspace import Run, Stage

PATH = "/compare"
TITLE = "Compare"
_HISTORY = "history:"
Choice = tuple[str, str]
"""What the URL says, and what the menu shows."""


def layout(request: PageRequest) -> Component:
    """Choice of both sides, then the comparison."""
    chosen = request.view.parameters
    choices = _choices(request.workspace.runs, recorded_runs())
    if len(choices) < 2:
        return empty(
            "There is only one run to look at",
            "Give two traces or reports: stallscope dashboard before.nsys-rep after.nsys-rep",
            "Or record runs with stallscope history; recorded ones can be chosen here.",
        )
    current = request.run or request.workspace.runs[0].slug
    base = chosen.get("base") or next(key for key, _ in choices if key != current)
    head = chosen.get("head") or current
    return html.Div(
        [
            html.H1("Compare two runs", className="headline"),
            html.Div(
                [
                    _menu("base", base, head, choices, request),
                    html.Span("→", className="dim"),
                    _menu("head", head, base, choices, request),
                ],
                className="compare-sides",
            ),
            *_result(base, head, request),
        ],
        className="page page-compare",
    )


def _choices(runs: tuple[Run, ...], recorded: tuple[RecordedRun, ...]) -> list[Choice]:
    own = [(run.slug, run.title) for run in runs]
    return own + [(f"{_HISTORY}{entry.id}", entry.title) for entry in recorded]


def _menu(side: str, chosen: str, other: str, choices: list[Choice], request: PageRequest) -> Component:
    title = next((title for key, title in choices if key == chosen), "unknown run")
    entries = []
    for key, text in choices:
        sides = {side: key, "head" if side == "base" else "base": other}
        mark = aria(current="true") if key == chosen else {}
        entries.append(html.Li(link(html.Span(printable(text, 90)), urls.page(PATH, request.run, **sides), **mark)))
    summary = html.Summary([html.Span(f"{side} ", className="dim"), html.Span(printable(title, 60))])
    return html.Details([summary, html.Ul(entries)], className="run-menu")


def _result(base: str, head: str, request: PageRequest) -> list[Component]:
    if base == head:
        return [empty("Both sides are the same run", "Choose another run on one side.")]
    sides = [_analysis(key, request) for key in (base, head)]
    waiting = [key for key, side in zip((base, head), sides, strict=True) if side is None]
    if sides[0] is None or sides[1] is None:
        return [empty("A side cannot be read yet", f"{', '.join(waiting)} is still loading, or could not be loaded.")]
    from stallscope.experiments.diff import compare  # numerics that no other page needs

    comparison = compare([sides[0]], [sides[1]])
    return [_verdict(comparison), *_panels(comparison)]


def _analysis(key: str, request: PageRequest) -> Analysis | None:
    if key.startswith(_HISTORY):
        return recorded_analysis(key.removeprefix(_HISTORY))
    run = request.workspace.run(key)
    return run.loaded.analysis if run and run.stage is Stage.READY and run.loaded else None


def _verdict(comparison: Comparison) -> Component:
    # Without comparability the headline is the first reason, which stands below anyway.
    headline = "" if comparison.verdict == "not comparable" else comparison.headline
    head = html.Div([parts.verdict_mark(comparison.verdict), html.Strong(headline)], className="compare-head")
    return html.Section([head, parts.reasons_list(comparison.reasons)], className="panel")


def _panels(comparison: Comparison) -> list[Component]:
    found = (
        parts.step_panel(comparison),
        parts.predictions_panel(comparison.predictions),
        parts.kernels_panel(comparison.kernels),
    )
    return [panel for panel in found if panel is not None]
