"""What a finding predicts for a step, in the unit a second run can be measured in."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from stallscope.experiments.runs import Run
from stallscope.model.analysis import Analysis
from stallscope.model.experiments import Prediction
from stallscope.model.findings import Finding

STEP_METRIC = "step_ns"
WINDOW_METRIC = "window_ns"


INSIDE_STEPS = 0.5
"""Part of a wait that must fall into the steps for its gain to be looked for there."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Predicted gain of the metric, nanoseconds a device; for `step_ns` a step's, for `window_ns` the whole run's."""

    metric: str
    low_ns: float
    high_ns: float


def expected(finding: Finding, run: Run) -> Expected:
    """The recoverable interval per step where most of the wait lies inside the steps, else for the whole window.

    For an id of the ledger the gain of a step is the recoverable part times the id's charge in a step, so that set-up
    outside the steps does not count; a finding beside the ledger is taken to be spread over the steps.
    """
    recoverable, devices = finding.recoverable_ns, max(len(finding.devices), 1)
    whole = Expected(WINDOW_METRIC, recoverable.low / devices, recoverable.high / devices)
    if run.steps is None or not finding.wait_ns:
        return whole
    if not finding.ledger:
        return Expected(STEP_METRIC, whole.low_ns / run.step_count, whole.high_ns / run.step_count)
    per_step = float(run.charged(finding.wait).mean())
    if per_step * run.step_count < INSIDE_STEPS * finding.wait_ns / devices:
        return whole
    low, high = recoverable.low / finding.wait_ns, recoverable.high / finding.wait_ns
    return Expected(STEP_METRIC, per_step * low, per_step * high)


def with_step_expectations(analysis: Analysis) -> Analysis:
    """The analysis with every experiment's expectation in the unit that a second run is measured in."""
    run = Run(analysis)
    findings = tuple(with_expectations(finding, run) for finding in analysis.findings)
    return msgspec.structs.replace(analysis, findings=findings)


def with_expectations(finding: Finding, run: Run) -> Finding:
    """The finding with every experiment's expectation filled from its recoverable interval."""
    gain = expected(finding, run)
    expect = Prediction(metric=gain.metric, low=round(gain.low_ns), high=round(gain.high_ns))
    replaced = tuple(msgspec.structs.replace(experiment, expect=expect) for experiment in finding.experiments)
    return msgspec.structs.replace(finding, experiments=replaced)
