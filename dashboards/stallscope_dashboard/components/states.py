"""What a page shows when there is nothing to show: still loading, nothing found, could not be read."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.errors import StallscopeError
from stallscope_dashboard.components.attributes import aria
from stallscope_dashboard.workspace import STAGE_TEXT, Run, Stage

_LAST = int(Stage.READY)


def loading(run: Run) -> Component:
    """Progress of a run that is still being loaded."""
    steps = [_step(stage, run.stage) for stage in (Stage.READING, Stage.ANALYZING, Stage.INDEXING)]
    return html.Section(
        [
            html.H1(f"Loading {run.title}"),
            html.P(f"{STAGE_TEXT[run.stage].capitalize()}. The page fills itself when this is done."),
            html.Progress(max=str(_LAST), value=str(int(run.stage)), **aria(label=f"Loading {run.title}")),
            html.Ol(steps, className="steps"),
        ],
        className="state state-loading",
        role="status",
    )


def _step(stage: Stage, now: Stage) -> Component:
    state = "done" if now > stage else "now" if now == stage else "next"
    return html.Li(STAGE_TEXT[stage], className=f"step-{state}")


def failed(error: StallscopeError) -> Component:
    """An error in its three parts: what, which file, what to do next."""
    return html.Section(
        [
            html.H1("This run could not be loaded"),
            html.P(error.what, className="state-what"),
            html.P(["File: ", html.Code(error.file)]) if error.file else None,
            html.P(["Next: ", error.next_step]) if error.next_step else None,
        ],
        className="state state-failed",
        role="alert",
    )


def empty(title: str, *reasons: str | Component) -> Component:
    """A page or panel without content, and why that is."""
    return html.Section([html.H2(title), *(html.P(reason) for reason in reasons)], className="state state-empty")


def broken(page: str, error: Exception) -> Component:
    """A page that failed to draw; the others still work."""
    return html.Section(
        [
            html.H1(f"{page} could not be drawn"),
            html.P(f"{type(error).__name__}: {error}", className="state-what"),
            html.P("This is a bug in stallscope, not in your trace. The other pages still work."),
        ],
        className="state state-failed",
        role="alert",
    )
