"""Batches from the host: pageable, pinned on the same stream, and pinned ahead on a stream of their own."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.sync", "uvm.fault_gpu", "input.wait", "alloc.pinned")
SLOTS = 2


class Consumer:
    """Adds up a batch and works on."""

    def __init__(self, machine: Machine, load_us: int) -> None:
        import torch

        self._grid = 2 * machine.processors
        self.sums = torch.zeros(self._grid * THREADS, device=machine.device)
        self._kernel = machine.kernel("sum_strided")
        self._load = Load(machine, load_us)

    def __call__(self, batch: Any) -> None:
        """Launch both kernels on the current stream."""
        self._kernel.bind(self._grid, THREADS, (batch, batch.numel(), self.sums, 1))()
        self._load.launch()


def in_order(machine: Machine, params: Params) -> Workload:
    """Copy, then compute, on one stream."""
    count = machine.size(params["kib"] << 10) // 4
    source = machine.host(count, pinned=bool(params["pinned"]))
    batch = machine.random(count)
    consume = Consumer(machine, params["load_us"])

    def step(_: int) -> None:
        batch.copy_(source, non_blocking=bool(params["pinned"]))
        consume(batch)

    return Workload(step, lambda: consume.sums)


def ahead(machine: Machine, params: Params) -> Workload:
    """The next batch arrives on a side stream while this one is consumed."""
    count = machine.size(params["kib"] << 10) // 4
    source = machine.host(count, pinned=True)
    batches = [machine.random(count) for _ in range(SLOTS)]
    side, main = machine.stream(), machine.stream()
    arrived = [machine.event() for _ in range(SLOTS)]
    consumed = [machine.event() for _ in range(SLOTS)]
    consume = Consumer(machine, params["load_us"])

    def fetch(slot: int) -> None:
        with machine.use(side):
            side.wait_event(consumed[slot])
            batches[slot].copy_(source, non_blocking=True)
            arrived[slot].record(side)

    machine.synchronize()
    fetch(0)

    def step(index: int) -> None:
        slot = index % SLOTS
        fetch((index + 1) % SLOTS)
        with machine.use(main):
            main.wait_event(arrived[slot])
            consume(batches[slot])
            consumed[slot].record(main)

    return Workload(step, lambda: consume.sums)


FAMILY = Family(
    name="copy",
    title="Pageable batches",
    topic=2,
    variants=(
        Variant(
            "pageable",
            "bad",
            in_order,
            {"kib": 16384, "pinned": 0, "load_us": 500},
            ("copy.pageable",),
            ("copy.exposed", *MUST_NOT),
            ("copy.blocking", "sync.stream"),
            "pinned_ahead",
        ),
        Variant(
            "pageable_small",
            "bad",
            in_order,
            {"kib": 1024, "pinned": 0, "load_us": 300},
            ("copy.pageable",),
            ("copy.exposed", *MUST_NOT),
            ("copy.blocking", "sync.stream"),
            "pinned_ahead_small",
            gain_note="the pageable call also keeps the host from running ahead; that part is outside the named waits",
        ),
        Variant(
            "pinned_ahead",
            "fixed",
            ahead,
            {"kib": 16384, "load_us": 500},
            (),
            but(("copy.pageable", "copy.exposed", *MUST_NOT), "launch.gap", "copy.exposed"),
            may=("launch.gap", "copy.exposed"),
        ),
        Variant(
            "pinned_ahead_small",
            "fixed",
            ahead,
            {"kib": 1024, "load_us": 300},
            (),
            but(("copy.pageable", "copy.exposed", *MUST_NOT), "launch.gap", "copy.exposed"),
            may=("launch.gap", "copy.exposed"),
        ),
        Variant(
            "pinned_same_stream",
            "decoy",
            in_order,
            {"kib": 16384, "pinned": 1, "load_us": 500},
            ("copy.exposed",),
            ("copy.pageable", *MUST_NOT),
        ),
    ),
)
