"""What a trace contains, what it lacks, and the profiler flag that would add it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stallscope.model.analysis import Analysis
from stallscope.model.findings import Check

State = Literal["recorded", "missing", "unknown"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event a profiler can record."""

    label: str
    use: str
    flag: str


@dataclass(frozen=True, slots=True)
class HealthRow:
    """One kind of event in this trace; `flag` is empty when nothing is missing."""

    key: str
    label: str
    use: str
    state: State
    detail: str
    flag: str


KINDS: dict[str, Kind] = {
    "kernels": Kind("Kernels", "device time", "--trace=cuda"),
    "copies": Kind("Copies", "transfers between host and devices", "--trace=cuda"),
    "memsets": Kind("Memsets", "device-side fills", "--trace=cuda"),
    "api": Kind("CUDA API calls", "who launched what, and late", "--trace=cuda"),
    "syncs": Kind("Synchronizations", "what a host wait waited for", "--trace=cuda"),
    "nvtx": Kind("NVTX ranges", "steps, layers, where a wait happens", "--trace=cuda,nvtx"),
    "graph_trace": Kind("CUDA graph nodes", "what runs inside a replay", "--cuda-graph-trace=node"),
    "osrt": Kind("OS runtime calls", "locks, files, queues the host waits for", "--trace=cuda,nvtx,osrt"),
    "sched": Kind("Scheduling", "threads that lost their core", "--cpuctxsw=process-tree"),
    "gil": Kind("Python GIL", "threads that wait for the interpreter", "--trace=cuda,nvtx,python-gil"),
    "memory_usage": Kind("Allocations", "what is allocated, freed and trimmed", "--cuda-memory-usage=true"),
    "uvm_faults": Kind(
        "Unified-memory faults",
        "page faults behind slow kernels",
        "--cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true",
    ),
    "gpu_metrics": Kind("GPU metrics", "sampled hardware counters", "--gpu-metrics-devices=all"),
    "events": Kind("CUDA events", "which stream waited for which", "--cuda-event-trace=true"),
    "host_callbacks": Kind("Host callbacks", "host functions a stream runs", "--trace=cuda with nsys 2025.6 or newer"),
    "context_switches": Kind("GPU context switches", "other processes on the GPU", "--gpuctxsw=true"),
    "nccl": Kind("NCCL", "collectives, sizes and ranks", "--trace=cuda,nvtx with NCCL 2.26 or newer"),
}

_STATES: dict[str, State] = {
    "yes": "recorded",
    "node": "recorded",
    "graph": "missing",
    "no": "missing",
    "none": "missing",
}
_DETAILS = {"graph": "whole graphs only: nodes are invisible", "none": "no graph trace"}


def health(analysis: Analysis) -> tuple[HealthRow, ...]:
    """One row a kind of event: missing ones first, then unknown, then recorded."""
    rows = [_row(key, str(answer)) for key, answer in analysis.capture.collected.items()]
    order: dict[State, int] = {"missing": 0, "unknown": 1, "recorded": 2}
    return tuple(sorted(rows, key=lambda row: order[row.state]))


def _row(key: str, answer: str) -> HealthRow:
    kind = KINDS.get(key, Kind(key.replace("_", " "), "", ""))
    state = _STATES.get(answer, "unknown")
    flag = kind.flag if state == "missing" else ""
    return HealthRow(key, kind.label, kind.use, state, _DETAILS.get(answer, ""), flag)


def checks_by_outcome(analysis: Analysis) -> dict[str, tuple[Check, ...]]:
    """The rules' answers grouped as found, clean, not_applicable, failed, in that order; empty groups are left out."""
    groups = {
        o: tuple(c for c in analysis.checks if c.outcome == o) for o in ("found", "clean", "not_applicable", "failed")
    }
    return {outcome: checks for outcome, checks in groups.items() if checks}
