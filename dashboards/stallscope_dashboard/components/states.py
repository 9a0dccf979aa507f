"""What a page shows when there is nothing to show: still loading, nothing found, could not be read."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from stallscope.errors import StallscopeError
from stallscope.views.text import printable
from stallscope_dashboard.components.attributes import aria
from stallscope_dashboard.workspace import STAGE_TEXT, Run, Stage

_STEPS = (Stage.READING, Stage.ANALYZING, Stage.INDEXING)


def loading(run: Run) -> Component:
    """Progress of a run that is still being loaded."""
    progress = run.progress
    title = printable(run.title, 120)
    note = f"{progress.note} {progress.fraction:.0%}" if progress.fraction is not None else progress.note
    done = max(int(progress.stage) - 1, 0) + (progress.fraction or 0)
    return html.Section(
        [
            html.H1(f"Loading {title}"),
            html.P(f"{STAGE_TEXT[progress.stage].capitalize()}{f' ({note})' if note else ''}. This page fills itself."),
            html.Progress(max=str(len(_STEPS)), value=f"{done:.2f}", **aria(label=f"Loading {title}")),
            html.Ol([_step(stage, progress.stage) for stage in _STEPS], className="steps"),
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
            html.P(printable(error.what, 1_000), className="state-what"),
            html.P(["File: ", html.Code(printable(error.file, 200))]) if error.file else None,
            html.P(["Next: ", printable(error.next_step, 600)]) if error.next_step else None,
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
            html.P(printable(f"{type(error).__name__}: {error}", 1_000), className="state-what"),
            html.P("This is a bug in stallscope, not in your trace. The other pages still work."),
        ],
        className="state state-failed",
        role="alert",
    )
