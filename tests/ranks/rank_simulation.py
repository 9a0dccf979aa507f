"""A data-parallel run on many ranks with planted stragglers, skew, clock drift and dropped ranks.

Every step of a rank: wait for the previous step on the host, fetch a batch, launch the compute kernels, launch an
all-reduce. The all-reduce starts on a rank when its compute is done and ends everywhere when the last rank has arrived
and the transfer is over. All of it is known, so what a tool says about it can be judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from stallscope.model.analysis import Source
from stallscope.model.events import ApiCalls, Collectives, Copies, Kernels, Memsets, NvtxRanges
from stallscope.model.names import Names
from stallscope.model.trace import CaptureInfo, Device, Process, Thread, Trace

Int64Array = npt.NDArray[np.int64]

NAMES = (
    "",
    "gemm",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
    "cudaLaunchKernel",
    "cudaStreamSynchronize",
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "ProfilerStep",
    "allreduce",
    "0",
    "all",
)
GEMM, NCCL, LAUNCH, SYNC, LOADER, STEP, ALLREDUCE, GROUP, MEMBERS = range(1, len(NAMES))

CALL_NS = 4_000
LATENCY_NS = 3_000
COMPUTE_STREAM, COMM_STREAM = 7, 20


@dataclass(frozen=True, slots=True)
class Run:
    """What happens. Times in ns; `late` maps a rank to what it is late by in every step (`pauses`: in single steps).

    `group` is the name of the communicator and `first_rank` the number of its first rank: several runs side by side are
    the tensor, pipeline or expert groups of one. With `garbage` no range covers the time before the launches: that is
    what a collection of Python's garbage, or any other host work without a name, looks like.
    """

    ranks: int = 8
    steps: int = 30
    kernels: int = 4
    compute_ns: int = 4_000_000
    loading_ns: int = 200_000
    transfer_ns: int = 300_000
    noise_ns: float = 50_000.0
    noise: Literal["normal", "exponential"] = "normal"
    end_jitter_ns: float = 1_500.0
    late: dict[int, int] = field(default_factory=dict)
    pauses: dict[tuple[int, int], int] = field(default_factory=dict)
    cause: Literal["compute", "input"] = "compute"
    drift_ppm: float = 0.0
    offset_ns: int = 0
    dropped: frozenset[int] = frozenset()
    first_step: dict[int, int] = field(default_factory=dict)
    sequences: bool = True
    seed: int = 0
    first_rank: int = 0
    group: str = "0"
    garbage: bool = False


def simulate(run: Run) -> list[Trace]:
    """One trace a rank that was not dropped, in rank order."""
    random = np.random.default_rng(run.seed)
    loading, compute = _durations(run, random)
    arrival, begin, end = _timeline(run, loading, compute)
    clocks = _clocks(run, random)
    jitter = np.rint(random.normal(0, run.end_jitter_ns, (run.steps, run.ranks))).astype(np.int64)
    return [
        _trace(
            run,
            rank,
            _Steps(begin, loading[:, rank], compute[:, rank], arrival[:, rank], end + jitter[:, rank]),
            clocks[rank],
        )
        for rank in range(run.ranks)
        if rank not in run.dropped
    ]


def _durations(run: Run, random: np.random.Generator) -> tuple[Int64Array, Int64Array]:
    """(steps, ranks): time to fetch the batch and to compute."""
    loading = np.full((run.steps, run.ranks), run.loading_ns, np.int64)
    draw = random.normal if run.noise == "normal" else _exponential(random)
    compute = run.compute_ns + np.rint(draw(0, run.noise_ns, (run.steps, run.ranks))).astype(np.int64)
    compute = np.maximum(compute, run.kernels * 1_000)
    target = loading if run.cause == "input" else compute
    for rank, late in run.late.items():
        target[:, rank] += late
    for (step, rank), pause in run.pauses.items():
        loading[step, rank] += pause
    return loading, compute


def _exponential(random: np.random.Generator) -> Callable[[float, float, tuple[int, int]], npt.NDArray[np.float64]]:
    """Mostly punctual, sometimes late; the same standard deviation as the normal noise."""
    return lambda _centre, scale, shape: random.exponential(scale, shape)


def _timeline(run: Run, loading: Int64Array, compute: Int64Array) -> tuple[Int64Array, Int64Array, Int64Array]:
    """When each rank arrives at each all-reduce, when each step begins, when each all-reduce ends."""
    arrival = np.zeros_like(loading)
    begin, end = np.zeros(run.steps, np.int64), np.zeros(run.steps, np.int64)
    now = 1_000_000
    for step in range(run.steps):
        begin[step] = now
        arrival[step] = now + loading[step] + CALL_NS + LATENCY_NS + compute[step]
        end[step] = arrival[step].max() + run.transfer_ns
        now = int(end[step]) + 20_000
    return arrival, begin, end


def _clocks(run: Run, random: np.random.Generator) -> list[tuple[int, float]]:
    """Offset and drift of every rank's clock."""
    offset = random.integers(-run.offset_ns, run.offset_ns + 1, run.ranks) if run.offset_ns else np.zeros(run.ranks)
    drift = random.uniform(-run.drift_ppm, run.drift_ppm, run.ranks) * 1e-6
    return [(int(o), float(d)) for o, d in zip(offset, drift, strict=True)]


@dataclass(frozen=True, slots=True)
class _Steps:
    begin: Int64Array
    loading: Int64Array
    compute: Int64Array
    arrival: Int64Array
    end: Int64Array


def _trace(run: Run, rank: int, steps: _Steps, clock: tuple[int, float]) -> Trace:
    first, number = run.first_step.get(rank, 0), run.first_rank + rank
    kept = slice(first, None)
    steps = _Steps(*(getattr(steps, name)[kept] for name in ("begin", "loading", "compute", "arrival", "end")))
    count, width = len(steps.begin), run.kernels + 1

    def local(times: Int64Array) -> Int64Array:
        return np.rint(times * (1 + clock[1])).astype(np.int64) + clock[0] + 10**12

    launch = (steps.begin + steps.loading)[:, None] + CALL_NS * np.arange(width)
    work = steps.begin + steps.loading + CALL_NS + LATENCY_NS
    part = steps.compute // run.kernels
    starts = np.concatenate((work[:, None] + part[:, None] * np.arange(run.kernels), steps.arrival[:, None]), axis=1)
    ends = np.concatenate((starts[:, 1:], steps.end[:, None]), axis=1)
    correlation = 1 + np.arange(count * width).reshape(count, width)
    tables = {
        Kernels: _kernels(local, starts, ends, correlation),
        ApiCalls: _calls(local, launch, steps, correlation),
        NvtxRanges: _ranges(local, steps, loader=not run.garbage),
        Copies: Copies.empty(),
        Memsets: Memsets.empty(),
        Collectives: _collectives(run, count, width, first),
    }
    return Trace(
        source=Source(name=f"rank{number}.json", sha256=f"{run.seed}-{number}", format="kineto", rank=number),
        devices=(Device(label="GPU 0", uuid="", name="H200"),),
        processes=(Process(pid=1),),
        threads=(Thread(process=0, tid=1),),
        names=Names((*NAMES[:GROUP], run.group, *NAMES[GROUP + 1 :])),
        capture=CaptureInfo(graph_trace="node"),
        tables=tables,
    )


def _kernels(local, starts: Int64Array, ends: Int64Array, correlation: Int64Array) -> Kernels:  # type: ignore[no-untyped-def] # noqa: ANN001
    count, width = starts.shape
    is_comm = np.tile(np.arange(width) == width - 1, count)
    zeros, ones = np.zeros(count * width, np.int64), np.ones(count * width, np.int64)
    axes = {f"{what}_{axis}": ones for what in ("grid", "block") for axis in "xyz"}
    name = np.where(is_comm, NCCL, GEMM)
    return Kernels.of(
        start_ns=local(starts.ravel()),
        end_ns=local(ends.ravel()),
        device=zeros,
        process=zeros,
        context=ones,
        stream=np.where(is_comm, COMM_STREAM, COMPUTE_STREAM),
        correlation=correlation.ravel(),
        name=name,
        full_name=name,
        registers=zeros,
        shared_bytes=zeros,
        local_bytes=zeros,
        graph_node=zeros,
        **axes,
    )


def _calls(local, launch: Int64Array, steps: _Steps, correlation: Int64Array) -> ApiCalls:  # type: ignore[no-untyped-def] # noqa: ANN001
    count, width = launch.shape
    begin = np.concatenate((launch, launch[:, -1:] + CALL_NS), axis=1)
    end = np.concatenate((launch + CALL_NS, steps.end[:, None] + 8_000), axis=1)
    name = np.tile(np.array([LAUNCH] * width + [SYNC]), count)
    ids = np.concatenate((correlation, 10**9 + np.arange(count)[:, None]), axis=1)
    zeros = np.zeros(count * (width + 1), np.int64)
    return ApiCalls.of(
        start_ns=local(begin.ravel()),
        end_ns=local(end.ravel()),
        process=zeros,
        thread=zeros,
        correlation=ids.ravel(),
        name=name,
        result=zeros,
    )


def _ranges(local, steps: _Steps, *, loader: bool) -> NvtxRanges:  # type: ignore[no-untyped-def] # noqa: ANN001
    count = len(steps.begin)
    start = np.stack((steps.begin, steps.begin + 100), axis=1)
    end = np.stack((steps.end + 10_000, steps.begin + steps.loading - 100), axis=1)
    zeros = np.zeros(2 * count, np.int64)
    name = np.tile([STEP, LOADER if loader else STEP], count)
    return NvtxRanges.of(
        start_ns=local(start.ravel()), end_ns=local(end.ravel()), thread=zeros, name=name, domain=zeros
    )


def _collectives(run: Run, count: int, width: int, first: int) -> Collectives:
    ones = np.ones(count, np.int64)
    return Collectives.of(
        kernel=width - 1 + width * np.arange(count),
        operation=ALLREDUCE * ones,
        communicator=GROUP * ones,
        members=0 * ones,
        sequence=first + np.arange(count) if run.sequences else -ones,
        bytes=(64 << 20) * ones,
        group_size=run.ranks * ones,
        source=-ones,
        target=-ones,
    )
