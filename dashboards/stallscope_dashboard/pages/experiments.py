"""Experiments: what to try next, what was predicted, what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dash import html
from dash.development.base_component import Component

from stallscope.model.comparison import Judgement
from stallscope.model.units import duration
from stallscope.views.text import printable
from stallscope_dashboard import urls
from stallscope_dashboard.components.comparison import predictions_panel
from stallscope_dashboard.components.experiment import experiment_card
from stallscope_dashboard.components.links import link
from stallscope_dashboard.components.marks import evidence, wait_name
from stallscope_dashboard.components.states import empty
from stallscope_dashboard.components.tables import panel, row, table
from stallscope_dashboard.pages.request import PageRequest
from stallscope_dashboard.recorded import RecordedRun, recorded_analysis, recorded_runs

if TYPE_CHECKING:
    from stallscope.experiments.plan import PlannedExperiment

PATH = "/experiments"
TITLE = "Experiments"
MAX_PLANNED = 12
MAX_JUDGED = 5


def layout(request: PageRequest) -> Component:
    """The plan, then the judgements of earlier predictions."""
    from stallscope.experiments.plan import next_experiments  # numerics that no other page needs

    planned = next_experiments(request.analysis, MAX_PLANNED)
    recorded = recorded_runs()
    body = [html.Div([_plan(planned, request)]), html.Div([*_outcomes(request, recorded), _history(recorded)])]
    return html.Div(
        [html.H1("What to try next", className="headline"), html.Div(body, className="columns columns-finding")],
        className="page page-experiments",
    )


def _plan(planned: tuple[PlannedExperiment, ...], request: PageRequest) -> Component:
    if not planned:
        reason = "No finding of this run promises anything, so there is nothing to try."
        return panel("Plan", "", empty("No experiment to run", reason))
    entries = [_entry(number, item, request) for number, item in enumerate(planned, start=1)]
    hint = "Ranked by expected gain, evidence and effort; one variable each."
    return panel("Plan", hint, html.Ol(entries, className="plan"))


def _entry(number: int, item: PlannedExperiment, request: PageRequest) -> Component:
    finding = item.finding
    head = html.Div(
        [
            html.Span(str(number), className="plan-number"),
            link(wait_name(finding.wait), urls.finding(request.run, finding.id)),
            evidence(finding.evidence_level),
            html.Span(
                ["score ", html.B(duration(item.score_ns))], className="dim number", title="gain × evidence ÷ effort"
            ),
        ],
        className="plan-head",
    )
    return html.Li([head, experiment_card(item.experiment, item.expect)])


def _outcomes(request: PageRequest, recorded: tuple[RecordedRun, ...]) -> list[Component]:
    found = [
        predictions_panel(judgements, f"Predictions of {title}") for title, judgements in _judged(request, recorded)
    ]
    shown = [part for part in found if part is not None]
    if shown:
        return shown
    reasons = (
        "Predictions are judged when a second run of the same program is there.",
        "Open both runs together, or record the first one: stallscope history add before.json --series NAME",
    )
    return [panel("Outcomes", "", empty("No prediction has been judged", *reasons))]


def _judged(request: PageRequest, recorded: tuple[RecordedRun, ...]) -> Iterator[tuple[str, tuple[Judgement, ...]]]:
    """What earlier runs predicted, measured against this one."""
    from stallscope.experiments.diff import compare

    this = request.workspace.run(request.run)
    for run in request.workspace.runs:
        if run is not this and run.loaded is not None:
            yield printable(run.title, 60), compare([run.loaded.analysis], [request.analysis]).predictions
    for entry in recorded[:MAX_JUDGED]:
        base = recorded_analysis(str(entry.id))
        if base is not None:
            yield printable(entry.title, 80), compare([base], [request.analysis]).predictions


def _history(recorded: tuple[RecordedRun, ...]) -> Component:
    if not recorded:
        return panel("History", "", html.P("No run has been recorded: stallscope history add REPORT --series NAME"))
    rows = [
        row(
            printable(r.entry.series, 60),
            html.Code(r.entry.commit[:10]) if r.entry.commit else "–",
            r.entry.recorded[:16].replace("T", " "),
            duration(r.entry.step_ns),
            printable(r.entry.gpu, 40),
            ", ".join(r.entry.baselines),
            numbers=(3,),
        )
        for r in recorded
    ]
    heading = ("series", "commit", "recorded", "step", "GPU", "baseline")
    return panel("History", "Newest first.", table("Recorded runs", heading, rows, numbers=(3,)))
