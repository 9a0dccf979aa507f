"""Which profiler commands answer a question: a light run for times, runs of their own for what slows the program."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from stallscope.errors import UsageError
from stallscope.model import events
from stallscope.model.columns import Table

Version = tuple[int, ...]
TableKind = type[Table]

GRAPH_TABLE_SINCE: Version = (2024, 1)
"""First nsys whose exports hold whole graph runs; older ones lose the work of a graph without node-level trace."""

NCU_LAUNCHES = 3
NCU_METRICS = (
    "regex:sm__ops_path_tensor_.*",
    "lts__t_sectors_op_membar.sum",
    "smsp__sass_inst_executed_op_ldgsts.sum",
    "smsp__sass_inst_executed_op_tma.sum",
    "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
)
"""Beside the full set: what the in-kernel rules ask for and no section collects."""


@dataclass(frozen=True, slots=True)
class CaptureRange:
    """The recorded part of the program: an NVTX range by name, or from the CUDA profiler's start to its stop."""

    kind: Literal["nvtx", "cuda"]
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> CaptureRange:
        """`nvtx:NAME` or `cuda`. Raises `UsageError`."""
        kind, _, name = text.partition(":")
        if kind == "cuda" and not name:
            return cls("cuda")
        if kind == "nvtx" and name:
            return cls("nvtx", name)
        raise UsageError(f"no capture range {text!r}", next_step="give nvtx:NAME, or cuda for cudaProfilerStart/Stop")


@dataclass(frozen=True, slots=True)
class Profiler:
    """The nsys at hand. `offers` tells whether its help mentions an option or value."""

    program: str = "nsys"
    version: Version = ()
    offers: Callable[[str], bool] = field(default=lambda _option: True)


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be recorded: a program, the event tables that the wanted waits need, and how often."""

    program: tuple[str, ...]
    output: Path
    tables: frozenset[TableKind] = frozenset()
    capture_range: CaptureRange | None = None
    repeat: int = 1
    graph_nodes: bool = False
    kernels: tuple[str, ...] = ()
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One profiler command. It leaves `reports` (`output` with suffixes); `warning` is about their numbers."""

    title: str
    command: tuple[str, ...]
    program: tuple[str, ...]
    output: Path
    reports: tuple[Path, ...]
    warning: str = ""
    profiler: Literal["nsys", "ncu"] = "nsys"

    def with_output(self, output: Path) -> Job:
        """The same job writing its reports elsewhere."""
        command = tuple(f"--output={output}" if word.startswith("--output=") else word for word in self.command)
        return replace(self, command=command, output=output)

    @property
    def shown(self) -> str:
        """The command as a shell takes it."""
        return shlex.join((*self.command, *self.program))


@dataclass(frozen=True, slots=True)
class _Extra:
    """Tracing that goes into a run of its own."""

    key: str
    tables: frozenset[TableKind]
    options: tuple[str, ...]
    warning: str


EXTRAS = (
    _Extra(
        "memory",
        frozenset({events.MemoryEvents, events.PoolTrims}),
        ("--cuda-memory-usage=true",),
        "tracking allocations slows them down: take times from the first run, allocation events from this one",
    ),
    _Extra(
        "uvm",
        frozenset({events.GpuFaults, events.CpuFaults}),
        ("--cuda-um-gpu-page-faults=true", "--cuda-um-cpu-page-faults=true"),
        "tracing page faults slows every fault: take times from the first run, fault counts from this one",
    ),
    _Extra(
        "events",
        frozenset({events.EventRecords}),
        ("--cuda-event-trace=true",),
        "tracing CUDA events can add dependencies between streams: take times from the first run",
    ),
)

_OSRT_OPTIONS = ("--osrt-threshold=10000", "--osrt-backtrace-threshold=1000000000")
"""Calls under 10 µs and stack traces off: without this a Python program can write gigabytes."""


def jobs(wish: Wish, nsys: Profiler, ncu: str = "ncu") -> tuple[Job, ...]:
    """The commands, in order: the light run (with its repeats), the runs with overhead, the kernels.

    Raises `UsageError` when a report exists and may not be replaced, or nsys lacks what the waits need.
    """
    plan = _Plan(wish, nsys)
    planned = (*plan.light(), *plan.extras(), *_kernels(wish, ncu))
    for job in planned:
        for report in job.reports:
            if report.exists() and not wish.overwrite:
                raise UsageError(
                    "this report exists already", file=report.name, next_step="give another -o NAME, or --force"
                )
    return planned


@dataclass(frozen=True, slots=True)
class _Plan:
    wish: Wish
    nsys: Profiler

    def light(self) -> Iterator[Job]:
        options, warning = _light_options(self.wish, self.nsys)
        stem, repeat = self.wish.output.stem, self.wish.repeat
        if self.wish.capture_range is not None and repeat > 1:
            reports = [f"{stem}.{number}" for number in range(1, repeat + 1)]
            yield self._job(f"times, {repeat} ranges", options, stem, warning, reports)
            return
        for number in range(1, repeat + 1):
            name = stem if repeat == 1 else f"{stem}-{number}"
            title = "times" if repeat == 1 else f"times, run {number} of {repeat}"
            yield self._job(title, options, name, warning)

    def extras(self) -> Iterator[Job]:
        for extra in EXTRAS:
            if not self.wish.tables & extra.tables:
                continue
            missing = [option for option in extra.options if not self.nsys.offers(option.partition("=")[0])]
            if missing:
                raise UsageError(
                    f"this nsys has no {missing[0].partition('=')[0]}",
                    next_step="use a newer nsys (--nsys PROGRAM), or leave these waits out of --for",
                )
            options = [*_base_options(self.wish, self.nsys), *extra.options]
            yield self._job(extra.key, options, f"{self.wish.output.stem}-{extra.key}", extra.warning)

    def _job(self, title: str, options: list[str], stem: str, warning: str, reports: Sequence[str] = ()) -> Job:
        folder = self.wish.output.parent
        command = [self.nsys.program, "profile", *options, *_range_options(self.wish)]
        command += ["--force-overwrite=true"] if self.wish.overwrite else []
        command += [f"--output={folder / stem}"]
        files = tuple(folder / f"{report}.nsys-rep" for report in reports or (stem,))
        return Job(title, tuple(command), self.wish.program, folder / stem, files, warning)


def _light_options(wish: Wish, nsys: Profiler) -> tuple[list[str], str]:
    options, warnings = _base_options(wish, nsys), []
    if any(option.startswith("--cuda-graph-trace=node") for option in options):
        warnings.append("if the program replays CUDA graphs, tracing their nodes slows the replays")
    if events.OsCalls in wish.tables:
        options += [option for option in _OSRT_OPTIONS if nsys.offers(option.partition("=")[0])]
    if events.SchedSpans in wish.tables:
        options[options.index("--cpuctxsw=none")] = "--cpuctxsw=process-tree"
    if events.ContextSwitches in wish.tables:
        options.append("--gpuctxsw=true")
    if events.GpuMetrics in wish.tables:
        plural = "--gpu-metrics-devices"
        options.append(f"{plural if nsys.offers(plural) else '--gpu-metrics-device'}=all")
        warnings.append("sampling GPU metrics needs permission for performance counters")
    return options, "; ".join(warnings)


def _base_options(wish: Wish, nsys: Profiler) -> list[str]:
    traces = ["cuda", "nvtx"]
    traces += ["osrt"] if events.OsCalls in wish.tables else []
    traces += ["python-gil"] if events.GilSpans in wish.tables and nsys.offers("python-gil") else []
    old = bool(nsys.version) and nsys.version < GRAPH_TABLE_SINCE
    graph = ["--cuda-graph-trace=node"] if wish.graph_nodes or old else []
    return [f"--trace={','.join(traces)}", "--sample=none", "--cpuctxsw=none", *graph]


def _range_options(wish: Wish) -> list[str]:
    """The program goes on after the range: nsys would otherwise end it."""
    if wish.capture_range is None:
        return []
    end = f"--capture-range-end={'stop' if wish.repeat == 1 else f'repeat:{wish.repeat}'}"
    if wish.capture_range.kind == "cuda":
        return ["--capture-range=cudaProfilerApi", end]
    name = wish.capture_range.name.replace("@", "\\@")
    register = "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"
    return ["--capture-range=nvtx", f"--nvtx-capture={name}@*", register, end]


def _kernels(wish: Wish, ncu: str) -> Iterator[Job]:
    if not wish.kernels:
        return
    stem = f"{wish.output.stem}-kernels"
    report = wish.output.parent / f"{stem}.ncu-rep"
    names = "|".join(wish.kernels)
    command = [ncu, "--set=full", f"--metrics={','.join(NCU_METRICS)}", f"--kernel-name=regex:{names}"]
    command += [f"--launch-count={NCU_LAUNCHES * len(wish.kernels)}", "--clock-control=none", "--nvtx"]
    command += ["--target-processes=all", *(["--force-overwrite"] if wish.overwrite else [])]
    command += [f"--export={report.with_suffix('')}"]
    warning = "Nsight Compute replays each kernel many times: this run says nothing about times between kernels"
    yield Job("kernels", tuple(command), wish.program, report.with_suffix(""), (report,), warning, "ncu")
