"""Unified memory touched for the first time by the other side, prefetched, and already there.

Every step has a region of its own, so that nothing ping-pongs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stallscope_probes.contract import Build, Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Block, Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.sync", "uvm.thrash", "uvm.evict", "copy.pageable")
REGIONS = 160
SYNCS = ("sync.device", "sync.stream")
AFTER_THE_SYNC = ("host.busy", "launch.gap")


class _Region:
    """One slice of a managed buffer."""

    def __init__(self, pointer: int, size_bytes: int) -> None:
        self.pointer = pointer
        self.size_bytes = size_bytes


class _Managed:
    """A managed buffer in regions, first written by the host."""

    def __init__(self, machine: Machine, params: Params) -> None:
        import torch

        self._machine = machine
        self._threads = torch.get_num_threads()
        torch.set_num_threads(1)  # faults of several threads reach nsys 2023.4 out of order, and it then drops them
        self.size_bytes = machine.size(params["mib"] << 20) if machine.kind == "cuda" else 1 << 16
        self.block: Block = machine.memory.managed(REGIONS * self.size_bytes)
        self.values = self.block.tensor()
        self.values.fill_(1.0)
        self.sums = torch.zeros(2 * machine.processors * THREADS, device=machine.device)
        self.load = Load(machine, 200)

    def region(self, index: int) -> Any:
        start = index % REGIONS * self.size_bytes
        if self._machine.kind == "cpu":
            return self.host(index)
        return _Region(self.block.pointer + start, self.size_bytes)

    def host(self, index: int) -> Any:
        count = self.size_bytes // 4
        return self.values[index % REGIONS * count :][:count]

    def close(self) -> None:
        import torch

        self._machine.synchronize()
        self._machine.memory.free(self.block)
        torch.set_num_threads(self._threads)

    def add_up(self, index: int) -> None:
        grid = 2 * self._machine.processors
        args = (self.region(index), self.size_bytes // 4, self.sums, 1)
        self._machine.kernel("sum_strided").bind(grid, THREADS, args)()
        self.load.launch()


def _device_reads(prepare: Callable[[Machine, _Managed, int], None], *, resident: bool = False) -> Build:
    def build(machine: Machine, params: Params) -> Workload:
        managed = _Managed(machine, params)
        if resident:
            machine.memory.prefetch(managed.block, "device")
        machine.synchronize()

        def step(index: int) -> None:
            prepare(machine, managed, index)
            managed.add_up(index)

        return Workload(step, lambda: managed.sums, close=managed.close)

    return build


def _host_reads(*, prefetch: bool) -> Build:
    def build(machine: Machine, params: Params) -> Workload:
        managed = _Managed(machine, params)
        machine.memory.prefetch(managed.block, "device")
        machine.synchronize()
        total = machine.host(1, pinned=False).zero_()

        def step(index: int) -> None:
            managed.add_up(index)
            if prefetch:
                machine.memory.prefetch(managed.region(index), "host")
            machine.synchronize()
            total.add_(managed.host(index).sum())

        return Workload(step, lambda: total, close=managed.close)

    return build


def _nothing(_machine: Machine, _managed: _Managed, _index: int) -> None:
    return None


def _ahead(machine: Machine, managed: _Managed, index: int) -> None:
    machine.memory.prefetch(managed.region(index), "device")


FAMILY = Family(
    name="uvm_demand",
    title="Page faults of unified memory",
    topic=6,
    collect="uvm",
    variants=(
        Variant(
            "device_faults",
            "bad",
            _device_reads(_nothing),
            {"mib": 2},
            ("uvm.fault_gpu",),
            ("uvm.fault_cpu", *MUST_NOT),
            fix="prefetched",
            managed_bytes=REGIONS * (2 << 20),
        ),
        Variant(
            "host_faults",
            "bad",
            _host_reads(prefetch=False),
            {"mib": 2},
            ("uvm.fault_cpu",),
            ("uvm.fault_gpu", *but(MUST_NOT, "launch.gap")),
            (*SYNCS, *AFTER_THE_SYNC),
            "host_prefetched",
            managed_bytes=REGIONS * (2 << 20),
            gain_note="unprofiled, a prefetch of these pages inside the step takes as long as faulting them in",
        ),
        Variant(
            "prefetched",
            "fixed",
            _device_reads(_ahead),
            {"mib": 2},
            (),
            ("uvm.fault_gpu", "uvm.fault_cpu", *MUST_NOT),
            ("uvm.prefetch",),
            managed_bytes=REGIONS * (2 << 20),
        ),
        Variant(
            "host_prefetched",
            "fixed",
            _host_reads(prefetch=True),
            {"mib": 2},
            (),
            ("uvm.fault_gpu", *but(MUST_NOT, "launch.gap")),
            (*SYNCS, *AFTER_THE_SYNC, "uvm.fault_cpu"),
            managed_bytes=REGIONS * (2 << 20),
        ),
        Variant(
            "resident",
            "decoy",
            _device_reads(_nothing, resident=True),
            {"mib": 2},
            (),
            ("uvm.fault_gpu", "uvm.fault_cpu", *MUST_NOT),
            managed_bytes=REGIONS * (2 << 20),
        ),
    ),
)
