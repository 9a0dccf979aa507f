"""A kernel that reads host memory again and again, the same from a staged copy, and a kernel that reads it once."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.sync", "uvm.fault_gpu", "copy.pageable", "fence.interference")


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    size = machine.size(params["kib"] << 10)
    host = machine.memory.pin(size)
    host.tensor().copy_(machine.host(size // 4, pinned=False))
    staged = machine.random(size // 4)
    grid = 4 * machine.processors
    sums = torch.zeros(grid * THREADS, device=machine.device)
    source = staged if params["staged"] else host
    add_up = machine.kernel("sum_strided").bind(grid, THREADS, (source, size // 4, sums, params["passes"]))
    load = Load(machine, params["load_us"])

    def step(_: int) -> None:
        if params["staged"]:
            staged.copy_(host.tensor(), non_blocking=True)
        add_up()
        load.launch()

    def close() -> None:
        machine.synchronize()
        machine.memory.unpin(host)

    return Workload(step, lambda: sums, close=close)


FAMILY = Family(
    name="zero_copy",
    title="A kernel reads host memory over the link",
    topic=6,
    collect="metrics",
    variants=(
        Variant(
            "mapped",
            "bad",
            _build,
            {"kib": 8192, "passes": 8, "staged": 0, "load_us": 200},
            ("link.zero_copy",),
            MUST_NOT,
            fix="staged",
        ),
        Variant(
            "staged",
            "fixed",
            _build,
            {"kib": 8192, "passes": 8, "staged": 1, "load_us": 200},
            (),
            ("link.zero_copy", *MUST_NOT),
            ("copy.exposed",),
        ),
        Variant(
            "read_once",
            "decoy",
            _build,
            {"kib": 64, "passes": 1, "staged": 0, "load_us": 1000},
            (),
            ("link.zero_copy", *MUST_NOT),
        ),
    ),
)
