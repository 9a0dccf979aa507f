from __future__ import annotations

import numpy as np
import pytest
from build_runs import finding, run

from stallscope.experiments.diff import DiffOptions, compare
from stallscope.experiments.verdicts import DEVICE_UNSEEN, HOST_UNSEEN, STEPS_FLOOR, Unseen
from stallscope.model.analysis import Analysis
from stallscope.model.comparison import Comparison


def noisy(gap: int, *, seed: int, count: int = 40, compute: int = 100_000, **more: object) -> Analysis:
    rng = np.random.default_rng(seed)
    return run(
        {
            "launch.gap": rng.normal(gap, max(gap * 0.02, 1), count).round().astype(int).tolist(),
            "ok.compute": rng.normal(compute, 500, count).round().astype(int).tolist(),
        },
        **more,  # type: ignore[arg-type]
    )


def test_run_against_itself_is_unchanged_to_the_nanosecond() -> None:
    one = noisy(50_000, seed=1)
    found = compare([one], [one])
    assert found.verdict == "unchanged"
    assert found.step is not None
    assert (found.step.delta_ns, found.step.low_ns, found.step.high_ns) == (0, 0, 0)
    assert {row.verdict for row in found.waits.values()} == {"unchanged"}


def test_second_run_of_the_same_program_is_unchanged() -> None:
    found = compare([noisy(50_000, seed=1)], [noisy(50_000, seed=2)])
    assert found.verdict == "unchanged"


def test_removed_gaps_are_named_with_an_interval_around_the_truth() -> None:
    found = compare([noisy(50_000, seed=1)], [noisy(5_000, seed=2)])
    assert found.verdict == "improved"
    assert found.step is not None
    assert found.step.low_ns <= -45_000 <= found.step.high_ns < 0
    assert found.waits["launch.gap"].verdict == "improved"
    assert found.waits["ok.compute"].verdict == "unchanged"
    assert found.headline == "step improved: 150 µs → 105 µs; improved: launch.gap"


def test_new_wait_is_a_regression_of_its_id() -> None:
    found = compare([noisy(5_000, seed=1)], [noisy(50_000, seed=2)])
    assert (found.verdict, found.waits["launch.gap"].verdict) == ("regressed", "regressed")


def test_row_verdicts_are_told_even_when_the_step_stays() -> None:
    base = run({"launch.gap": [50_000] * 12, "ok.compute": [100_000] * 12})
    head = run({"sync.device": [50_000] * 12, "ok.compute": [100_000] * 12})
    found = compare([base], [head])
    assert found.verdict == "unchanged"
    assert (found.waits["launch.gap"].verdict, found.waits["sync.device"].verdict) == ("improved", "regressed")
    assert "regressed: sync.device" in found.headline


def test_change_below_the_band_is_no_change() -> None:
    base = run({"ok.compute": [100_000] * 40})
    head = run({"ok.compute": [round(100_000 * (1 + STEPS_FLOOR / 2))] * 40})
    assert compare([base], [head]).verdict == "unchanged"


def test_one_run_a_side_claims_no_change_that_two_runs_may_differ_by() -> None:
    """The host's share varies by up to three quarters between runs, which the steps of one run cannot show."""
    base, slower = noisy(50_000, seed=1), noisy(80_000, seed=2)
    assert compare([base], [slower]).verdict == "inconclusive"
    repeats = [noisy(gap, seed=10 + k, name=f"{gap}-{k}.sqlite") for gap in (50_000, 80_000) for k in range(5)]
    assert compare(repeats[:5], repeats[5:]).verdict == "regressed"


def test_work_of_the_device_needs_no_such_allowance() -> None:
    base, slower = noisy(500, seed=1), noisy(500, seed=2, compute=110_000)
    assert compare([base], [slower]).waits["ok.compute"].verdict == "regressed"


def test_unseen_variation_is_that_of_the_side_that_varies_more() -> None:
    base = Unseen.of({"launch.gap": 100.0, "uvm.fault_gpu": 300.0, "copy.exposed": 400.0, "ok.compute": 9_000.0})
    head = Unseen.of({"sync.stream": 200.0, "ok.compute": 9_000.0})
    both = base.larger(head)
    assert (base.host_ns, base.device_ns) == (HOST_UNSEEN * 100, DEVICE_UNSEEN * 500)
    assert (both.host_ns, both.device_ns) == (HOST_UNSEEN * 200, DEVICE_UNSEEN * 500)
    assert both.of_row("launch.gap", 1.0) == HOST_UNSEEN * 200
    assert both.of_row("uvm.fault_gpu", 10.0) == DEVICE_UNSEEN * 10
    assert both.of_row("ok.compute", 9_000.0) == 0


def test_more_noise_than_the_margin_is_inconclusive_and_not_unchanged() -> None:
    rng = np.random.default_rng(5)
    noise = [rng.normal(100_000, 40_000, 10).clip(1).round().astype(int).tolist() for _ in range(2)]
    assert compare([run({"ok.compute": noise[0]})], [run({"ok.compute": noise[1]})]).verdict == "inconclusive"


def test_one_value_a_side_is_inconclusive() -> None:
    found = compare([run({"ok.compute": [100]})], [run({"ok.compute": [50]})])
    assert found.verdict == "inconclusive"
    assert found.noise is not None
    assert found.noise.basis == "none"
    assert any(reason.id == "valid.insufficient_samples" for reason in found.reasons)


def test_several_runs_use_what_differs_between_runs() -> None:
    """Steps inside a run agree to 0.1 %, runs differ by 10 %: a single pair would claim a change, three runs do not."""
    levels = [100_000, 110_000, 95_000], [104_000, 98_000, 109_000]
    sides = [[run({"ok.compute": [v, v + 50, v - 50] * 5}) for v in side] for side in levels]
    found = compare(sides[0], sides[1])
    assert found.noise is not None
    assert (found.noise.basis, found.verdict) == ("runs", "inconclusive")


def test_five_runs_find_five_percent() -> None:
    rng = np.random.default_rng(6)
    sides = [
        [noisy(0, seed=int(rng.integers(1 << 30)), compute=int(rng.normal(level, 500))) for _ in range(5)]
        for level in (100_000, 105_000)
    ]
    found = compare(sides[0], sides[1])
    assert found.verdict == "regressed"
    assert found.noise is not None
    assert found.noise.basis == "runs"


def test_single_run_says_how_weak_it_is() -> None:
    found = compare([noisy(50_000, seed=1)], [noisy(5_000, seed=2)])
    assert found.noise is not None
    assert found.noise.basis == "steps"
    assert found.noise.message.startswith("weak: only steps inside one run a side")


def test_different_program_gets_no_numbers() -> None:
    found = compare([noisy(5_000, seed=1)], [noisy(5_000, seed=1, kernels=[("conv", 3, 7)])])
    assert found.verdict == "not comparable"
    assert (found.step, found.waits, found.predictions, found.kernels) == (None, {}, (), ())
    assert found.reasons[0].id == "valid.workload_changed"


def test_warm_up_is_left_out_on_both_sides() -> None:
    slow = [900_000, 500_000, *[100_000] * 38]
    found = compare([run({"ok.compute": slow})], [run({"ok.compute": [100_000] * 40})])
    assert found.verdict == "unchanged"
    assert any("first 2 step(s)" in reason.message for reason in found.reasons)


def test_comparison_round_trips_through_json() -> None:
    found = compare([noisy(50_000, seed=1)], [noisy(5_000, seed=2)])
    assert Comparison.from_json(found.to_json()) == found


def test_changed_kernel_is_listed_with_its_time_a_step() -> None:
    base = run({"ok.compute": [20_000] * 9}, kernels=[("gemm", 10, 1000), ("norm", 10, 1000)])
    head = run({"ok.compute": [15_000] * 9}, kernels=[("gemm", 10, 500), ("norm", 10, 1000)])
    rows = compare([base], [head]).kernels
    assert [(r.kernel, r.base_ns, r.head_ns, r.delta_ns) for r in rows] == [("gemm", 10_000, 5_000, -5_000)]


@pytest.mark.parametrize(
    ("head", "outcome"),
    [
        ({"launch.gap": [5_000] * 20, "ok.compute": [100_000] * 20}, "confirmed"),
        ({"launch.gap": [5_000] * 20, "sync.device": [38_000] * 20, "ok.compute": [100_000] * 20}, "partial"),
        ({"launch.gap": [5_000] * 20, "sync.device": [45_000] * 20, "ok.compute": [100_000] * 20}, "moved"),
        (
            {
                "launch.gap": [5_000] * 20,
                "a": [15_000] * 20,
                "b": [15_000] * 20,
                "c": [15_000] * 20,
                "ok.compute": [100_000] * 20,
            },
            "refuted",
        ),
    ],
)
def test_prediction_of_a_removed_wait_is_judged(head: dict[str, list[int]], outcome: str) -> None:
    predicted = finding("launch.gap", 50_000 * 20, low=15_000 * 20)
    before = {"launch.gap": [50_000] * 20, "ok.compute": [100_000] * 20}
    base = [run(before, findings=[predicted], name=f"base{k}.sqlite") for k in range(5)]
    found = compare(base, [run(head, name=f"head{k}.sqlite") for k in range(5)])
    assert [(p.finding, p.verdict) for p in found.predictions] == [("F-launch.gap", outcome)]


def test_prediction_whose_wait_stayed_is_untested() -> None:
    predicted = finding("launch.gap", 50_000 * 20)
    base = run({"launch.gap": [50_000] * 20, "ok.compute": [100_000] * 20}, findings=[predicted])
    found = compare([base], [run({"launch.gap": [50_000] * 20, "ok.compute": [70_000] * 20})])
    assert (found.predictions, found.untested) == ((), ("F-launch.gap",))


def test_named_experiment_that_left_the_wait_is_refuted() -> None:
    predicted = finding("launch.gap", 50_000 * 20)
    base = run({"launch.gap": [50_000] * 20, "ok.compute": [100_000] * 20}, findings=[predicted])
    found = compare([base], [base], DiffOptions(tested=frozenset({"launch.gap"})))
    assert found.predictions[0].verdict == "refuted"


def test_failed_numerics_gate_invalidates_the_gain() -> None:
    predicted = finding("launch.gap", 50_000 * 20)
    base = run({"launch.gap": [50_000] * 20, "ok.compute": [100_000] * 20}, findings=[predicted])
    head = run({"launch.gap": [5_000] * 20, "ok.compute": [100_000] * 20})
    assert compare([base], [head], DiffOptions(numerics_passed=False)).predictions[0].verdict == "invalid"
