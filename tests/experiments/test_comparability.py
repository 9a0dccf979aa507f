from __future__ import annotations

from build_runs import MACHINE, run

from stallscope.experiments.comparability import comparability, covered, same_work, similarity
from stallscope.experiments.runs import Run

STEADY = {"ok.compute": [10_000] * 8}


def obstacles(base: Run, head: Run, *allowed: str) -> list[str]:
    return [reason.id for reason in comparability([base], [head], frozenset(allowed)).obstacles]  # type: ignore[arg-type]


def test_same_program_on_same_machine_is_comparable() -> None:
    found = comparability([Run(run(STEADY))], [Run(run(STEADY))], frozenset())
    assert found.obstacles == ()
    assert found.caveats == ()


def test_other_gpu_driver_or_clock_is_not_comparable() -> None:
    base = Run(run(STEADY, environment={**MACHINE, "sm_clock_mhz": "1980"}))
    for change in ({"gpu": "NVIDIA H100"}, {"driver": "570.1"}, {"sm_clock_mhz": "1755"}, {"gpus": "8"}):
        head = Run(run(STEADY, environment={**MACHINE, "sm_clock_mhz": "1980", **change}))
        assert obstacles(base, head) == ["valid.environment"], change


def test_clock_within_three_percent_is_the_same() -> None:
    base = Run(run(STEADY, environment={**MACHINE, "sm_clock_mhz": "1980"}))
    head = Run(run(STEADY, environment={**MACHINE, "sm_clock_mhz": "1935"}))
    assert obstacles(base, head) == []


def test_allowed_difference_becomes_a_caveat() -> None:
    base, head = Run(run(STEADY)), Run(run(STEADY, environment={**MACHINE, "driver": "570.1"}))
    found = comparability([base], [head], frozenset({"driver"}))
    assert found.obstacles == ()
    assert "580.1 on the base side, 570.1 on the head side" in found.caveats[0].message


def test_unknown_driver_is_said_and_not_taken_as_equal() -> None:
    silent = {key: value for key, value in MACHINE.items() if key != "driver"}
    found = comparability([Run(run(STEADY, environment=silent))], [Run(run(STEADY))], frozenset())
    assert found.obstacles == ()
    assert "not compared: driver" in found.caveats[0].message


def test_different_kernels_are_different_work() -> None:
    base = Run(run(STEADY, kernels=[("gemm", 10, 1000)]))
    head = Run(run(STEADY, kernels=[("conv", 10, 1000)]))
    assert obstacles(base, head) == ["valid.workload_changed"]
    assert similarity(base, head) == 0.0


def test_shared_small_kernels_do_not_make_programs_alike() -> None:
    """A thousand fills a step beside different heavy kernels."""
    base = Run(run(STEADY, kernels=[("fill", 1000, 1), ("gemm", 1, 900_000)]))
    head = Run(run(STEADY, kernels=[("fill", 1000, 1), ("conv", 1, 900_000)]))
    assert similarity(base, head) > 0.99
    assert covered(base, head) < 0.01
    assert not same_work(base, head)


def test_removed_interfering_kernel_is_still_the_same_work() -> None:
    base = Run(run(STEADY, kernels=[("small", 200, 100), ("writer", 1, 900_000)]))
    head = Run(run(STEADY, kernels=[("small", 200, 5)]))
    assert same_work(base, head)


def test_kernel_made_a_thousand_times_faster_is_the_same_work() -> None:
    assert same_work(
        Run(run(STEADY, kernels=[("touch", 1, 39_000_000)])), Run(run(STEADY, kernels=[("touch", 1, 130)]))
    )


def test_twice_the_launches_a_step_is_another_problem_size() -> None:
    base, head = Run(run(STEADY)), Run(run(STEADY, kernels=[("gemm", 20, 1000)]))
    found = comparability([base], [head], frozenset())
    assert "problem size changed" in found.obstacles[0].message


def test_graph_replays_hidden_on_one_side_only_are_not_comparable() -> None:
    from msgspec.structs import replace

    hidden = run(STEADY, graph_trace="graph")
    assert hidden.workload is not None
    hidden = replace(hidden, workload=replace(hidden.workload, api_calls={"cudaGraphLaunch": 8}))
    found = comparability([Run(run(STEADY))], [Run(hidden)], frozenset())
    assert "--cuda-graph-trace=node" in found.obstacles[0].message


def test_a_side_of_different_programs_is_refused() -> None:
    mixed = [Run(run(STEADY)), Run(run(STEADY, kernels=[("conv", 3, 9)], name="odd.sqlite"))]
    found = comparability(mixed, [Run(run(STEADY))], frozenset())
    assert "odd.sqlite" in found.obstacles[0].message


def test_all_kernels_slower_by_one_factor_points_at_clocks() -> None:
    names = [f"k{i}" for i in range(6)]
    base = Run(run(STEADY, kernels=[(n, 5, 1000) for n in names]))
    head = Run(run(STEADY, kernels=[(n, 5, 1100) for n in names]))
    found = comparability([base], [head], frozenset())
    assert any("one factor (1.10)" in reason.message for reason in found.caveats)


def test_one_faster_kernel_does_not_point_at_clocks() -> None:
    names = [f"k{i}" for i in range(6)]
    base = Run(run(STEADY, kernels=[(n, 5, 1000) for n in names]))
    head = Run(run(STEADY, kernels=[(n, 5, 500 if n == "k0" else 1000) for n in names]))
    assert comparability([base], [head], frozenset()).caveats == ()
