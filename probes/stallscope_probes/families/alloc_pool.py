"""A stream-ordered pool that gives its memory back at every synchronization, one that keeps it, one never asked to."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.sync", "alloc.retry", "uvm.fault_gpu", "copy.pageable")


def _build(machine: Machine, params: Params) -> Workload:
    size_bytes = machine.size(params["mib"] << 20)
    pool = machine.memory.pool((1 << 64) - 1 if params["keep"] else 0)
    load = Load(machine, 400)
    fill = machine.kernel("fill")
    stream = machine.legacy_stream()

    def step(index: int) -> None:
        block = machine.memory.allocate_async(size_bytes, pool)
        fill.bind(4 * machine.processors, THREADS, (block, size_bytes // 4, float(index)))()
        load.launch()
        machine.memory.free_async(block)
        if params["sync"]:
            stream.synchronize()

    return Workload(step, lambda: load.data)


FAMILY = Family(
    name="alloc_pool",
    title="A memory pool that shrinks and regrows",
    topic=4,
    collect="memory",
    variants=(
        Variant(
            "threshold_zero",
            "bad",
            _build,
            {"mib": 256, "keep": 0, "sync": 1},
            ("alloc.pool_trim",),
            but(MUST_NOT, "sync.stream", "launch.gap"),
            ("sync.stream", "launch.gap"),
            "keeps",
            bytes=512 << 20,
        ),
        Variant(
            "keeps",
            "fixed",
            _build,
            {"mib": 256, "keep": 1, "sync": 1},
            (),
            ("alloc.pool_trim", *MUST_NOT),
            ("sync.stream",),
            bytes=512 << 20,
        ),
        Variant(
            "never_synchronized",
            "decoy",
            _build,
            {"mib": 256, "keep": 0, "sync": 0},
            (),
            ("alloc.pool_trim", "sync.stream", *MUST_NOT),
            bytes=1 << 30,
        ),
    ),
)
