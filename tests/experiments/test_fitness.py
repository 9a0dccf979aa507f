from __future__ import annotations

from build_runs import experiment, finding, run
from msgspec.structs import replace

from stallscope.experiments.diff import compare
from stallscope.experiments.fitness import fitness
from stallscope.experiments.runs import Run
from stallscope.model.analysis import Analysis

STEADY = {"ok.compute": [10_000] * 8}


def shaped(*, registers: int, shared_bytes: int = 0, capability: str = "9.0") -> Analysis:
    analysis = run(STEADY)
    workload = analysis.workload
    assert workload is not None
    kernels = tuple(
        replace(k, block=(256, 1, 1), registers=registers, shared_bytes=shared_bytes) for k in workload.kernels
    )
    environment = {**workload.environment, "compute_capability": capability}
    return replace(analysis, workload=replace(workload, kernels=kernels, environment=environment))


def test_lost_occupancy_names_the_limit_that_binds() -> None:
    found = fitness([Run(shaped(registers=64))], [Run(shaped(registers=128))])
    assert [(r.id, r.message) for r in found] == [
        ("valid.resource", "gemm: 4 → 2 blocks a multiprocessor, bound by registers (25% of its warps)")
    ]
    reasons = compare([shaped(registers=64)], [shaped(registers=128)]).reasons
    assert "valid.resource" in {reason.id for reason in reasons}


def test_gained_or_unknown_occupancy_is_no_caveat() -> None:
    assert fitness([Run(shaped(registers=128))], [Run(shaped(registers=64))]) == []
    assert fitness([Run(shaped(registers=0))], [Run(shaped(registers=128))]) == []
    unknown = Run(shaped(registers=64, capability="99.0")), Run(shaped(registers=128, capability="99.0"))
    assert fitness([unknown[0]], [unknown[1]]) == []


def test_code_compiled_at_load_time_is_a_missing_target() -> None:
    jit = run(STEADY, findings=[finding("init.jit", 1_000, experiments=[experiment()])])
    (reason,) = fitness([Run(run(STEADY))], [Run(jit)])
    assert reason.id == "valid.capability"
    assert "compute capability 9.0" in reason.message
