"""Host and device write the same managed pages in turn; the same with the pages kept on the host; one-way traffic."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS

MUST_NOT = ("launch.gap", "alloc.sync", "uvm.evict", "copy.pageable")
PAGE_FLOATS = 1024


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # faults of several threads reach nsys 2023.4 out of order, and it then drops them
    size = machine.size(params["kib"] << 10)
    block = machine.memory.managed(size)
    values = block.tensor()
    values.fill_(1.0)
    if params["on_host"]:
        machine.memory.prefer(block, "host")
    count = size // 4
    scale = machine.kernel("scale").bind(machine.processors, THREADS, (block, count, 0.9990234375))
    machine.synchronize()

    def step(_: int) -> None:
        for _ in range(params["turns"]):
            if params["host_writes"]:
                values[::PAGE_FLOATS] += 1.0
            scale()
            machine.synchronize()

    def close() -> None:
        machine.synchronize()
        machine.memory.free(block)
        torch.set_num_threads(threads)

    return Workload(step, values.clone, close=close)


FAMILY = Family(
    name="uvm_thrash",
    title="Managed pages that go back and forth",
    topic=6,
    collect="uvm",
    variants=(
        Variant(
            "in_turn",
            "bad",
            _build,
            {"kib": 1024, "turns": 3, "on_host": 0, "host_writes": 1},
            ("uvm.thrash",),
            MUST_NOT,
            ("uvm.fault_gpu", "uvm.fault_cpu", "sync.device", "host.busy"),
            "kept_on_host",
            managed_bytes=1 << 20,
        ),
        Variant(
            "kept_on_host",
            "fixed",
            _build,
            {"kib": 1024, "turns": 3, "on_host": 1, "host_writes": 1},
            (),
            ("uvm.thrash", *but(MUST_NOT, "launch.gap")),
            ("sync.device", "host.busy", "launch.gap", "uvm.fault_cpu", "link.zero_copy"),
            managed_bytes=1 << 20,
        ),
        Variant(
            "device_only",
            "decoy",
            _build,
            {"kib": 1024, "turns": 3, "on_host": 0, "host_writes": 0},
            (),
            ("uvm.thrash", *but(MUST_NOT, "launch.gap")),
            ("sync.device", "launch.gap", "uvm.fault_gpu"),
            managed_bytes=1 << 20,
        ),
    ),
)
