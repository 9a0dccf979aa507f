"""Sentences that every format says the same way. The text is raw: each format escapes it in its own manner."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import PurePath

from stallscope.model.analysis import Analysis, KernelCauses
from stallscope.model.findings import Evidence, Finding, Place, Recoverable
from stallscope.model.units import duration, quantity, share
from stallscope.views.headline import headline as headline_of
from stallscope.views.headline import is_inside_kernels, problems
from stallscope.views.names import elided, short_kernel

MAX_NAME = 60
MAX_DEPTH = 6
PATH_ARROW = " › "


def headline(analysis: Analysis) -> str:
    """The first sentence of a report, computed from the ledgers and the findings."""
    told = headline_of(analysis).sentence
    costly = problems(analysis)
    if not costly:
        return told
    return f"{told}; {count(len(costly), 'finding')}, first {costly[0].wait} ({duration(costly[0].wait_ns)})"


def recoverable(worth: Recoverable) -> str:
    """`6.00 ms to 12.0 ms`."""
    if worth.high == 0:
        return "nothing"
    return f"{duration(worth.low)} to {duration(worth.high)}"


def place(where: Place, wait: str = "") -> str:
    """`step › layer, cudaFree, before touch`: NVTX path, API call, kernel that ran next, or in which the wait is."""
    parts = [nvtx_path(where)] if where.nvtx else []
    if where.nvtx_by == "time" and where.nvtx:
        parts[0] += " (by time)"
    parts += [elided(where.api, MAX_NAME)] if where.api else []
    parts += (
        [f"{'in' if is_inside_kernels(wait) else 'before'} {short_kernel(where.kernel, MAX_NAME)}"]
        if where.kernel
        else []
    )
    parts += [f"thread {where.thread}"] if where.thread is not None and not parts else []
    return ", ".join(parts) or "place unknown"


def nvtx_path(where: Place) -> str:
    """The ranges from the outermost to the innermost; the middle of a deep path is left out."""
    names = [elided(name, MAX_NAME) for name in where.nvtx]
    if len(names) > MAX_DEPTH:
        names[2 : len(names) - 2] = ["…"]
    return PATH_ARROW.join(names)


def worst_place(finding: Finding) -> str:
    """The place that costs most, or nothing."""
    return place(finding.where[0], finding.wait) if finding.where else ""


def evidence(item: Evidence) -> str:
    """`gaps after cudaFree: 40 (CUPTI_ACTIVITY_KIND_RUNTIME)`."""
    return f"{item.label}: {quantity(item.value, item.unit)}"


def beside(finding: Finding) -> str:
    """What to know about a finding that the ledger does not charge."""
    return "" if finding.ledger else "beside the ledger: the device was busy meanwhile"


def shape(kernel: KernelCauses) -> str:
    """`64×64×1 blocks of 128×1×1 threads`."""
    grid, block = ("×".join(map(str, size)) for size in (kernel.grid, kernel.block))
    return f"{grid} blocks of {block} threads"


def joint_gain(analysis: Analysis) -> str:
    """What removing all findings together would give at most; nothing when the replay does not explain the run."""
    replay = analysis.replay
    if replay is None or not replay.explains or len(replay.joint) < 2:
        return ""
    gain = duration(replay.joint_ns)
    return f"Removing all {len(replay.joint)} together gives at most {gain}; single gains do not add up"


def critical_path(analysis: Analysis) -> str:
    """What the path that decides the end of the run is spent on, the largest part first."""
    path = analysis.replay.critical_path if analysis.replay and analysis.replay.explains else None
    if path is None or not path.total_ns:
        return ""
    parts = sorted(path.parts_ns.items(), key=lambda part: -part[1])
    told = ", ".join(f"{bound} {share(time_ns / path.total_ns)}" for bound, time_ns in parts if time_ns)
    return f"Critical path: {told}"


def environment(analysis: Analysis) -> str:
    """One line about the machine and the tools; nothing that names a person, a host or a path."""
    return " · ".join(_environment(analysis))


def _environment(analysis: Analysis) -> Iterator[str]:
    gpus: dict[str, int] = {}
    for device in analysis.devices:
        gpus[device.name or "GPU"] = gpus.get(device.name or "GPU", 0) + 1
    yield from (f"{count} × {name}" for name, count in gpus.items())
    known = analysis.workload.environment if analysis.workload else {}
    labels = {"driver": "driver {}", "cuda_driver": "CUDA {}", "sm_clock_mhz": "SM clock {} MHz"}
    yield from (label.format(_cuda_version(known[key])) for key, label in labels.items() if key in known)
    yield from dict.fromkeys(source.producer for source in analysis.sources if source.producer)
    yield f"{analysis.tool.name} {analysis.tool.version}".strip()


def reproduce(analysis: Analysis) -> str:
    """The command that makes this report again."""
    names = (shlex.quote(PurePath(source.name).name) for source in analysis.sources)
    return " ".join(("stallscope analyze", *names))


def unchecked(analysis: Analysis) -> list[tuple[str, str]]:
    """Wait ids that no rule could judge, each with the reason."""
    return [
        (check.wait, check.reason if check.outcome == "not_applicable" else f"the rule failed: {check.reason}")
        for check in analysis.checks
        if check.outcome in {"not_applicable", "failed"}
    ]


def count(number: int, noun: str) -> str:
    """`1 finding`, `1,200 findings`."""
    ending = "" if number == 1 else "es" if noun.endswith("ch") else "s"
    return f"{number:,} {noun}{ending}"


def _cuda_version(text: str) -> str:
    """`13010` → `13.1`, as CUDA's own version numbers are meant; anything else stays."""
    return f"{int(text) // 1000}.{int(text) % 1000 // 10}" if text.isdigit() and len(text) == 5 else text
