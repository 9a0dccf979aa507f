"""The work of all ranks as one workload."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec

from stallscope.model.workload import CopyWork, KernelWork, StepSeries, Workload

MAX_KERNELS = 500


def merge_workloads(workloads: Sequence[Workload]) -> Workload | None:
    """Kernels, copies and calls are sums over the ranks; steps are means, cut to the shortest rank."""
    if not workloads:
        return None
    calls: Counter[str] = Counter()
    for workload in workloads:
        calls.update(workload.api_calls)
    return Workload(
        kernels=_kernels([k for w in workloads for k in w.kernels]),
        copies=_copies([c for w in workloads for c in w.copies]),
        api_calls=dict(sorted(calls.items())),
        steps=_steps([w.steps for w in workloads if w.steps is not None]),
        environment=_environment(workloads),
    )


def _kernels(kernels: Sequence[KernelWork]) -> tuple[KernelWork, ...]:
    found: dict[tuple[str, tuple[str, ...]], KernelWork] = {}
    for kernel in kernels:
        key = (kernel.signature, kernel.nvtx)
        known = found.get(key)
        found[key] = kernel if known is None else _sum(known, kernel)
    ordered = sorted(found.values(), key=lambda k: (-k.time_ns, k.signature, k.nvtx))
    return tuple(ordered[:MAX_KERNELS])


def _sum(left: KernelWork, right: KernelWork) -> KernelWork:
    """Both together; the deviation is that of the joint sample."""
    launches, time_ns = left.launches + right.launches, left.time_ns + right.time_ns
    mean = time_ns / max(launches, 1)
    spread = sum(k.launches * (k.deviation_ns**2 + (k.time_ns / max(k.launches, 1) - mean) ** 2) for k in (left, right))
    return msgspec.structs.replace(
        left,
        launches=launches,
        time_ns=time_ns,
        step_launches=left.step_launches + right.step_launches,
        step_time_ns=left.step_time_ns + right.step_time_ns,
        deviation_ns=math.sqrt(spread / max(launches, 1)),
    )


def _copies(copies: Sequence[CopyWork]) -> tuple[CopyWork, ...]:
    found: dict[tuple[str, str, str], CopyWork] = {}
    for copy in copies:
        key = (copy.direction, copy.source, copy.target)
        known = found.get(key)
        if known is not None:
            copy = msgspec.structs.replace(  # noqa: PLW2901 - the sum takes the place of its parts
                copy,
                copies=copy.copies + known.copies,
                bytes=copy.bytes + known.bytes,
                time_ns=copy.time_ns + known.time_ns,
            )
        found[key] = copy
    return tuple(found[key] for key in sorted(found))


def _steps(series: Sequence[StepSeries]) -> StepSeries | None:
    """Mean over the ranks whose steps have the first one's name; the waits are those before the comparison of ranks."""
    if not series:
        return None
    same = [s for s in series if (s.name, s.basis, s.group) == (series[0].name, series[0].basis, series[0].group)]
    length = min(len(s.durations_ns) for s in same)
    waits = sorted({wait for s in same for wait in s.waits_ns})
    means = {wait: _mean([s.waits_ns.get(wait, (0,) * length)[:length] for s in same]) for wait in waits}
    return msgspec.structs.replace(
        series[0],
        durations_ns=_totals(means, length) if means else _mean([s.durations_ns[:length] for s in same]),
        waits_ns=means,
        devices=sum(s.devices for s in same),
    )


def _mean(rows: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(round(sum(column) / len(column)) for column in zip(*rows, strict=True))


def _totals(means: dict[str, tuple[int, ...]], length: int) -> tuple[int, ...]:
    """Sums of the rounded means, so that the charges still add up to the durations."""
    return tuple(sum(values[k] for values in means.values()) for k in range(length))


def _environment(workloads: Sequence[Workload]) -> dict[str, str]:
    """Facts that all ranks share, and the number of GPUs together."""
    first = workloads[0].environment
    shared = {key: value for key, value in first.items() if all(w.environment.get(key) == value for w in workloads)}
    counts = [w.environment.get("gpus", "") for w in workloads]
    if all(count.isdecimal() for count in counts):
        shared["gpus"] = str(sum(int(count) for count in counts))
    return dict(sorted(shared.items()))
