"""Small analyses with chosen steps, kernels and findings."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from stallscope.model.analysis import Analysis, Capture, DeviceLedger, Source
from stallscope.model.experiments import Experiment
from stallscope.model.findings import Evidence, EvidenceLevel, Finding, Recoverable
from stallscope.model.workload import KernelWork, StepBasis, StepSeries, Workload

MACHINE = {"gpu": "NVIDIA H200", "gpus": "1", "compute_capability": "9.0", "driver": "580.1", "cuda_driver": "13000"}


def kernel(name: str, per_step: int, ns: int, steps: int, grid: int = 8) -> KernelWork:
    launches = per_step * steps
    return KernelWork(
        signature=f"{name}-{grid}",
        kernel=name,
        grid=(grid, 1, 1),
        block=(128, 1, 1),
        launches=launches,
        time_ns=launches * ns,
        step_launches=launches,
        step_time_ns=launches * ns,
        nvtx=("step",),
    )


def series(waits: Mapping[str, Sequence[int]], name: str = "step", basis: StepBasis = "nvtx") -> StepSeries:
    durations = tuple(sum(column) for column in zip(*waits.values(), strict=True))
    return StepSeries(name=name, basis=basis, durations_ns=durations, waits_ns={k: tuple(v) for k, v in waits.items()})


def _sha256(waits: Mapping[str, Sequence[int]], name: str) -> str:
    content = f"{name} {sorted((wait, tuple(values)) for wait, values in waits.items())}"
    return hashlib.sha256(content.encode()).hexdigest()


def run(
    waits: Mapping[str, Sequence[int]],
    *,
    kernels: Sequence[tuple[str, int, int]] = (("gemm", 10, 1000),),
    environment: Mapping[str, str] | None = None,
    findings: Sequence[Finding] = (),
    graph_trace: str = "node",
    name: str = "run.sqlite",
) -> Analysis:
    """One analyzed run: the charges of every step by id, and kernels as (name, launches a step, ns a launch)."""
    steps = series(waits)
    ledger = {wait: sum(values) for wait, values in waits.items()}
    window = sum(ledger.values())
    return Analysis(
        sources=(Source(name=name, sha256=_sha256(waits, name), format="nsys-sqlite"),),
        capture=Capture(collected={"graph_trace": graph_trace}),  # type: ignore[dict-item]
        devices=(
            DeviceLedger(
                device="GPU 0",
                uuid="",
                name="NVIDIA H200",
                window_ns=window,
                busy_ns=ledger.get("ok.compute", 0),
                idle_ns=window - ledger.get("ok.compute", 0),
                ledger=ledger,
            ),
        ),
        findings=tuple(findings),
        workload=Workload(
            kernels=tuple(kernel(n, count, ns, len(steps.durations_ns)) for n, count, ns in kernels),
            steps=steps,
            environment=dict(MACHINE if environment is None else environment),
        ),
    )


def experiment(
    title: str = "replay a CUDA graph", effort: str = "lines", apply: Sequence[str] = ("graph()",)
) -> Experiment:
    return Experiment(
        title=title,
        change=title,
        apply=tuple(apply),
        measure="stallscope diff before --to after",
        refuted_if="the step does not get faster",
        numerics="bit-identical",
        effort=effort,  # type: ignore[arg-type]
    )


def finding(
    wait: str,
    wait_ns: int,
    *,
    low: int | None = None,
    high: int | None = None,
    level: EvidenceLevel = "supported",
    experiments: Sequence[Experiment] | None = None,
    ledger: bool = True,
) -> Finding:
    top = wait_ns if high is None else high
    return Finding(
        id=f"F-{wait}",
        wait=wait,
        title=wait,
        severity="warning",
        evidence_level=level,
        devices=("GPU 0",),
        count=1,
        wait_ns=wait_ns,
        share=0.5,
        recoverable_ns=Recoverable(low=int(0.3 * top) if low is None else low, high=top, assumes="the wait vanishes"),
        evidence=(Evidence(label="launches", value=1, unit="count", source="CUPTI_ACTIVITY_KIND_RUNTIME"),),
        experiments=tuple((experiment(),) if experiments is None else experiments),
        ledger=ledger,
    )
