from __future__ import annotations

from build_runs import experiment, finding, run

from stallscope.experiments.expectations import with_expectations
from stallscope.experiments.plan import next_experiments
from stallscope.experiments.runs import Run

STEPS = {"launch.gap": [40_000] * 10, "alloc.sync": [30_000] * 10, "ok.compute": [30_000] * 10}


def test_ranking_is_gain_times_evidence_over_effort() -> None:
    """400 µs at 8 units of effort lose against 300 µs at one."""
    hard = finding("launch.gap", 400_000, experiments=[experiment("rewrite it", "rewrite")])
    easy = finding("alloc.sync", 300_000, experiments=[experiment("set a flag", "flag", ["X=1"])])
    planned = next_experiments(run(STEPS, findings=[hard, easy]), 5)
    assert [p.experiment.title for p in planned] == ["set a flag", "rewrite it"]
    assert planned[0].score_ns == (90_000 + 300_000) / 2 * 0.8
    assert planned[1].score_ns == (120_000 + 400_000) / 2 * 0.8 / 8


def test_weak_evidence_ranks_lower() -> None:
    weak = finding("launch.gap", 300_000, level="indicated", experiments=[experiment("a", apply=["a"])])
    sure = finding("alloc.sync", 300_000, level="supported", experiments=[experiment("b", apply=["b"])])
    planned = next_experiments(run(STEPS, findings=[weak, sure]), 2)
    assert [p.experiment.title for p in planned] == ["b", "a"]


def test_alternatives_come_after_every_findings_first_experiment() -> None:
    two = finding("launch.gap", 400_000, experiments=[experiment("a", "flag", ["a"]), experiment("a2", "flag", ["a2"])])
    one = finding("alloc.sync", 30_000, experiments=[experiment("b", "flag", ["b"])])
    planned = next_experiments(run(STEPS, findings=[two, one]), 5)
    assert [p.experiment.title for p in planned] == ["a", "b", "a2"]


def test_same_change_is_proposed_once() -> None:
    both = [
        finding(wait, 300_000, experiments=[experiment("a", "flag", ["a"])]) for wait in ("launch.gap", "alloc.sync")
    ]
    assert len(next_experiments(run(STEPS, findings=both), 5)) == 1


def test_expectation_is_per_step_and_ignores_set_up() -> None:
    """The finding also waited 100 µs before the first step; a step can only win back what it loses."""
    item = finding("launch.gap", 500_000, low=125_000, high=250_000)
    expect = with_expectations(item, Run(run(STEPS))).experiments[0].expect
    assert expect is not None
    assert (expect.metric, expect.low, expect.high) == ("step_ns", 10_000, 20_000)


def test_wait_of_the_set_up_is_expected_in_the_window() -> None:
    """Weights uploaded before the first step: no step gets faster."""
    item = finding("copy.pageable", 1_000_000, low=250_000, high=500_000)
    expect = with_expectations(item, Run(run(STEPS))).experiments[0].expect
    assert expect is not None
    assert (expect.metric, expect.low, expect.high) == ("window_ns", 250_000, 500_000)


def test_equal_scores_keep_the_order_of_the_rule() -> None:
    item = finding("launch.gap", 400_000, experiments=[experiment("z", "flag", ["z"]), experiment("a", "flag", ["a"])])
    assert [p.experiment.title for p in next_experiments(run(STEPS, findings=[item]), 5)] == ["z", "a"]


def test_finding_beside_the_ledger_divides_by_steps() -> None:
    item = finding("dep.default_stream", 1_000_000, low=0, high=500_000, ledger=False)
    expect = with_expectations(item, Run(run(STEPS))).experiments[0].expect
    assert expect is not None
    assert (expect.low, expect.high) == (0, 50_000)


def test_count_limits_the_plan() -> None:
    item = finding("launch.gap", 400_000)
    assert next_experiments(run(STEPS, findings=[item]), 0) == ()
