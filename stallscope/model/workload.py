"""What a run did, per step: the part of an analysis that makes two runs comparable."""

from __future__ import annotations

from typing import Literal

import msgspec

StepBasis = Literal["nvtx", "kernel"]


class KernelWork(msgspec.Struct, frozen=True, kw_only=True):
    """All launches of one kernel with one shape from one place of the program.

    `signature` is a short hash of demangled name, grid and block; `nvtx` is the path of the launching thread.
    `deviation_ns` is the standard deviation of the durations, so that means of two runs can be compared.
    `step_launches` and `step_time_ns` are the part inside the steps of `Workload.steps`, without set-up and tear-down;
    without steps they are everything.
    """

    signature: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    time_ns: int
    step_launches: int = 0
    step_time_ns: int = 0
    deviation_ns: float = 0.0
    nvtx: tuple[str, ...] = ()
    registers: int = 0
    shared_bytes: int = 0


class CopyWork(msgspec.Struct, frozen=True, kw_only=True):
    """All copies of one direction between two kinds of memory."""

    direction: str
    source: str
    target: str
    copies: int
    bytes: int
    time_ns: int


class StepSeries(msgspec.Struct, frozen=True, kw_only=True):
    """Device time of consecutive steps, and to what each step's time was charged.

    A step lasts from the completion of the previous step's last operation to the completion of its own last one, so the
    durations add up to the covered window whatever the host queued ahead. `waits_ns[id][k]` is the charge of wait `id`
    in step k; over all ids the charges sum to `durations_ns[k]`. Values are means over `devices` devices. `basis` is
    `kernel` when no NVTX range repeats: a step is then the period of the most frequent kernel. Above a size limit,
    `group` consecutive steps are averaged into one value.
    """

    name: str
    basis: StepBasis
    durations_ns: tuple[int, ...]
    waits_ns: dict[str, tuple[int, ...]] = {}
    devices: int = 1
    group: int = 1


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """Work done by one run: kernels by signature, copies, API calls, steps; and the machine it ran on.

    `environment` holds only `gpu`, `gpus`, `compute_capability`, `driver`, `cuda_driver`, `sm_clock_mhz`,
    `graph_trace`, `format` and `producer`, and only where the capture tells.
    """

    kernels: tuple[KernelWork, ...] = ()
    copies: tuple[CopyWork, ...] = ()
    api_calls: dict[str, int] = {}
    steps: StepSeries | None = None
    environment: dict[str, str] = {}
