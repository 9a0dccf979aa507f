"""Compute that lasts a chosen time: the device-side ballast of most probes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stallscope_probes.device.machine import Machine

THREADS = 256


class Load:
    """Launches of the kernel `busy` over its own data; `launch()` adds one of about `microseconds`."""

    def __init__(self, machine: Machine, microseconds: float, *, blocks: int | None = None, stream: Any = None) -> None:
        grid = blocks or machine.processors
        self.data = machine.random(grid * THREADS, seed=7)
        arguments = (self.data, machine.iterations(microseconds))
        self.launch: Callable[[], None] = machine.kernel("busy").bind(grid, THREADS, arguments, stream=stream)


def python_work(microseconds: int) -> int:
    """Keep the interpreter itself busy for that long; returns how many times it went round."""
    from time import perf_counter_ns

    end = perf_counter_ns() + 1000 * microseconds
    rounds = 0
    while perf_counter_ns() < end:
        rounds += 1
    return rounds
