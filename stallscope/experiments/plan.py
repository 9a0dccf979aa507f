"""Which experiment to run next: predicted gain × evidence ÷ effort, one variable at a time."""

from __future__ import annotations

from dataclasses import dataclass

from stallscope.experiments.expectations import expected
from stallscope.experiments.runs import Run
from stallscope.model.analysis import Analysis
from stallscope.model.experiments import Experiment, Prediction
from stallscope.model.findings import EvidenceLevel, Finding

EVIDENCE_WEIGHT: dict[EvidenceLevel, float] = {"indicated": 0.4, "supported": 0.8, "confirmed": 1.0}
"""How much of a predicted gain to count on at each level of evidence. A judgement, not a measurement."""

EFFORT_WEIGHT = {"flag": 1.0, "lines": 2.0, "rewrite": 8.0}
"""Effort of changing an environment variable, a few lines, a kernel or the program's structure; a judgement."""


@dataclass(frozen=True, slots=True)
class PlannedExperiment:
    """One experiment to run next. `score_ns` = middle of the finding's recoverable interval × evidence ÷ effort.

    `expect` is the metric interval to measure; everything outside it teaches something.
    """

    finding: Finding
    experiment: Experiment
    expect: Prediction
    score_ns: float


def next_experiments(analysis: Analysis, count: int) -> tuple[PlannedExperiment, ...]:
    """The best `count` experiments, best first; each changes one variable and no change is proposed twice.

    The best experiment of every finding comes before the second best of any: a finding's alternatives are tried only
    when its first experiment was refuted.
    """
    run = Run(analysis)
    rounds = [
        (order, planned)
        for finding in analysis.findings
        if finding.severity != "note" and finding.recoverable_ns.high > 0
        for order, planned in enumerate(_ranked(finding, run))
    ]
    rounds.sort(key=lambda item: (item[0], -item[1].score_ns, item[1].finding.wait))
    chosen: dict[tuple[str, tuple[str, ...]], PlannedExperiment] = {}
    for _, planned in rounds:
        chosen.setdefault((planned.experiment.change, planned.experiment.apply), planned)
    return tuple(chosen.values())[: max(count, 0)]


def _ranked(finding: Finding, run: Run) -> list[PlannedExperiment]:
    """A finding's experiments, best first; equals stay in the order of the rule, which puts the closest fit first."""
    gain = expected(finding, run)
    expect = Prediction(metric=gain.metric, low=round(gain.low_ns), high=round(gain.high_ns))
    middle = (finding.recoverable_ns.low + finding.recoverable_ns.high) / 2
    planned = [
        PlannedExperiment(
            finding=finding,
            experiment=experiment,
            expect=expect,
            score_ns=middle * EVIDENCE_WEIGHT[finding.evidence_level] / EFFORT_WEIGHT[experiment.effort],
        )
        for experiment in finding.experiments
    ]
    return sorted(planned, key=lambda item: -item.score_ns)
