"""A temporary a step: cudaMalloc and cudaFree, a stream-ordered pool, and a caching allocator."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Kernel, Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "sync.device", "sync.stream", "uvm.fault_gpu", "alloc.retry")
UNLIMITED = (1 << 64) - 1


class _Use:
    """Fills a temporary, adds it up, and works on."""

    def __init__(self, machine: Machine, params: Params) -> None:
        import torch

        self.size_bytes = machine.size(params["mib"] << 20)
        self.grid = 4 * machine.processors
        self.sums = torch.zeros(self.grid * THREADS, device=machine.device)
        self.load = Load(machine, 200)
        self._fill: Kernel = machine.kernel("fill")
        self._sum: Kernel = machine.kernel("sum_strided")

    def __call__(self, block: Any, value: float) -> None:
        count = self.size_bytes // 4
        self._fill.bind(self.grid, THREADS, (block, count, value))()
        self._sum.bind(self.grid, THREADS, (block, count, self.sums, 1))()
        self.load.launch()


def _malloc(machine: Machine, params: Params) -> Workload:
    use = _Use(machine, params)

    def step(index: int) -> None:
        for _ in range(params["pairs"]):
            block = machine.memory.allocate(use.size_bytes)
            use(block, float(index))
            machine.memory.free(block)

    return Workload(step, lambda: use.sums)


def _pool(machine: Machine, params: Params) -> Workload:
    use = _Use(machine, params)
    pool = machine.memory.pool(UNLIMITED)

    def step(index: int) -> None:
        for _ in range(params["pairs"]):
            block = machine.memory.allocate_async(use.size_bytes, pool)
            use(block, float(index))
            machine.memory.free_async(block)

    return Workload(step, lambda: use.sums)


def _cached(machine: Machine, params: Params) -> Workload:
    import torch

    use = _Use(machine, params)

    def step(index: int) -> None:
        for _ in range(params["pairs"]):
            use(torch.empty(use.size_bytes // 4, device=machine.device), float(index))

    return Workload(step, lambda: use.sums)


FAMILY = Family(
    name="alloc",
    title="Allocation calls that synchronize",
    topic=4,
    collect="memory",
    variants=(
        Variant(
            "malloc", "bad", _malloc, {"mib": 64, "pairs": 2}, ("alloc.sync",), MUST_NOT, fix="pool", bytes=256 << 20
        ),
        Variant("malloc_small", "bad", _malloc, {"mib": 2, "pairs": 2}, ("alloc.sync",), MUST_NOT, fix="pool_small"),
        Variant("pool", "fixed", _pool, {"mib": 64, "pairs": 2}, (), ("alloc.sync", *MUST_NOT), bytes=256 << 20),
        Variant("pool_small", "fixed", _pool, {"mib": 2, "pairs": 2}, (), ("alloc.sync", *MUST_NOT)),
        Variant("cached", "decoy", _cached, {"mib": 64, "pairs": 2}, (), ("alloc.sync", *MUST_NOT), bytes=256 << 20),
    ),
)
