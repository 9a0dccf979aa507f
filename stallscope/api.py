"""The only orchestration: open, derive, run the rules, write down what they concluded."""

from __future__ import annotations

import stallscope
from stallscope.experiments.expectations import with_step_expectations
from stallscope.model.analysis import Analysis, Capture, Step, Tool
from stallscope.model.trace import Trace
from stallscope.timeline.timeline import WHOLE, Scope, Timeline
from stallscope.timeline.workload import measure_workload
from stallscope.waits.catalogue import all_rules
from stallscope.waits.runner import diagnose


def analyze_trace(trace: Trace, scope: Scope = WHOLE, *, everything: bool = False) -> Analysis:
    """Diagnose one opened trace."""
    timeline = Timeline(trace, scope)
    diagnosis = diagnose(timeline, all_rules(), everything=everything)
    steps = timeline.steps
    analysis = Analysis(
        tool=Tool(version=stallscope.__version__),
        sources=(trace.source,),
        capture=Capture(
            collected={**trace.capture.collected, "graph_trace": trace.capture.graph_trace}, notes=trace.capture.notes
        ),
        devices=diagnosis.ledgers,
        steps=(Step(name=trace.names[steps.name], durations_ns=tuple((steps.ends - steps.starts).tolist())),)
        if steps
        else (),
        findings=diagnosis.findings,
        checks=diagnosis.checks,
        workload=measure_workload(timeline, diagnosis.charges),
    )
    return with_step_expectations(analysis)
