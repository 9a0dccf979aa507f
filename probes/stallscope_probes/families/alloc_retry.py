"""PyTorch's caching allocator at its limit: sizes that never fit what is cached, against one size for all."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "sync.device", "uvm.fault_gpu", "copy.pageable")
MIB = 1 << 20


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    load = Load(machine, 200)
    if machine.kind == "cuda":
        torch.cuda.empty_cache()
        _, total = machine.free_bytes()
        limit = torch.cuda.memory_reserved() + params["limit_mib"] * MIB
        torch.cuda.set_per_process_memory_fraction(limit / total)

    def step(index: int) -> None:
        mib = params["mib"] + params["growth_mib"] * index
        for _ in range(2):
            batch = torch.empty(machine.size(mib * MIB) // 4, device=machine.device)
            batch[:1024].fill_(float(index))
            load.launch()
            del batch

    def close() -> None:
        if machine.kind == "cuda":
            torch.cuda.set_per_process_memory_fraction(1.0)
            torch.cuda.empty_cache()

    return Workload(step, lambda: load.data, close=close)


def _held(machine: Machine, params: Params) -> Workload:
    import torch

    inner = _build(machine, params)
    size = machine.size(params["mib"] * MIB) // 4
    load = Load(machine, 200)

    def step(index: int) -> None:
        first = torch.empty(size + 512 * params["growth_mib"] * index, device=machine.device)
        second = torch.empty(size + 512 * params["growth_mib"] * index, device=machine.device)
        for batch in (first, second):
            batch[:1024].fill_(float(index))
            load.launch()

    return Workload(step, lambda: load.data, close=inner.close)


FAMILY = Family(
    name="alloc_retry",
    title="The caching allocator gives up its cache and tries again",
    topic=3,
    collect="memory",
    variants=(
        Variant(
            "growing_sizes",
            "bad",
            _build,
            {"mib": 300, "growth_mib": 2, "limit_mib": 1024},
            ("alloc.retry",),
            but(MUST_NOT, "alloc.sync", "launch.gap"),
            ("alloc.sync", "launch.gap"),
            "one_size",
            bytes=2 << 30,
        ),
        Variant(
            "one_size",
            "fixed",
            _build,
            {"mib": 300, "growth_mib": 0, "limit_mib": 1024},
            (),
            but(("alloc.retry", "alloc.sync", *MUST_NOT), "launch.gap"),
            bytes=2 << 30,
            may=("launch.gap",),
        ),
        Variant(
            "fits",
            "decoy",
            _held,
            {"mib": 64, "growth_mib": 0, "limit_mib": 1024},
            (),
            but(("alloc.retry", "alloc.sync", *MUST_NOT), "launch.gap"),
            bytes=2 << 30,
            may=("launch.gap",),
        ),
    ),
)
