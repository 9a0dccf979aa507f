"""An experiment as a card: the change, how to apply and measure it, what to expect, what would refute it."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.model.experiments import Experiment, Prediction
from stallscope.model.units import duration
from stallscope_dashboard.components.marks import copy_button

_METRICS = {"step_ns": "a step gets shorter by", "window_ns": "the window gets shorter by"}
_NUMERICS = {
    "bit-identical": "results must stay bit-identical; a difference means a race",
    "fp64-gate": "results may change in the last digits; check them with the FP64 gate",
}
_EFFORT = {"flag": "a flag", "lines": "a few lines", "rewrite": "a rewrite"}


def experiment_card(experiment: Experiment, expect: Prediction | None = None) -> Component:
    """One experiment; `expect` overrides the interval written in it."""
    expected = expect or experiment.expect
    return html.Article(
        [
            html.Header([html.H3(experiment.title), html.Span(_EFFORT[experiment.effort], className="tag")]),
            html.P(experiment.change, className="experiment-change"),
            *(_line("apply", text) for text in experiment.apply),
            _line("measure", experiment.measure),
            html.Dl(_facts(experiment, expected), className="facts"),
        ],
        className="experiment",
    )


def _facts(experiment: Experiment, expected: Prediction | None) -> list[Component]:
    facts: list[Component] = []
    if expected is not None:
        facts += [
            html.Dt(_METRICS.get(expected.metric, expected.metric)),
            html.Dd(interval(expected.low, expected.high)),
        ]
    facts += [html.Dt("refuted if"), html.Dd(experiment.refuted_if)]
    return [*facts, html.Dt("numerics"), html.Dd(_NUMERICS[experiment.numerics])]


def interval(low_ns: float, high_ns: float) -> str:
    """Two durations as an interval, one when they are the same."""
    return duration(high_ns) if low_ns == high_ns else f"{duration(low_ns)} to {duration(high_ns)}"


def _line(label: str, text: str) -> Component:
    return html.Div(
        [html.Span(label, className="dim"), html.Code(text), copy_button(text, "copy")], className="experiment-line"
    )
