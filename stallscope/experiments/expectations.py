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


@dataclass(frozen=True, slots=True)
class Expected:
    """Predicted gain a step, nanoseconds; and the wait a step that is to vanish."""

    low_ns: float
    high_ns: float
    wait_ns: float


def expected(finding: Finding, run: Run) -> Expected:
    """The recoverable interval per step and device.

    For an id of the ledger it is the recovered part of the wait times the id's charge a step, so that set-up outside
    the steps does not count; for a finding beside the ledger, the interval divided by steps and devices.
    """
    per_step = float(run.charged(finding.wait).mean()) if finding.ledger and len(run.durations()) else 0.0
    if not per_step or not finding.wait_ns:
        divisor = run.step_count * max(len(finding.devices), 1)
        recoverable = finding.recoverable_ns
        return Expected(recoverable.low / divisor, recoverable.high / divisor, finding.wait_ns / divisor)
    low, high = finding.recoverable_ns.low / finding.wait_ns, finding.recoverable_ns.high / finding.wait_ns
    return Expected(per_step * low, per_step * high, per_step)


def with_step_expectations(analysis: Analysis) -> Analysis:
    """The analysis with every experiment's expectation in the unit that a second run is measured in."""
    run = Run(analysis)
    findings = tuple(with_expectations(finding, run) for finding in analysis.findings)
    return msgspec.structs.replace(analysis, findings=findings)


def with_expectations(finding: Finding, run: Run) -> Finding:
    """The finding with every experiment's expectation filled from its recoverable interval.

    The metric is the step where the run has steps, else the window.
    """
    gain = expected(finding, run)
    metric = STEP_METRIC if run.steps else WINDOW_METRIC
    expect = Prediction(metric=metric, low=round(gain.low_ns), high=round(gain.high_ns))
    replaced = tuple(msgspec.structs.replace(experiment, expect=expect) for experiment in finding.experiments)
    return msgspec.structs.replace(finding, experiments=replaced)
