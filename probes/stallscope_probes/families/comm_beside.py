"""Compute beside a stand-in collective of many thread blocks, of few, and compute that shares nothing with it."""

from __future__ import annotations

from collections.abc import Callable

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.sync", "fence.interference", "copy.pageable", "comm.exposed")
BUFFER_BYTES = 128 << 20


def _compute(machine: Machine, params: Params) -> tuple[Callable[[], None], Callable[[], object]]:
    if not params["memory_bound"]:
        load = Load(machine, 60, blocks=32)
        return load.launch, lambda: load.data
    count = machine.size(BUFFER_BYTES) // 4
    values = machine.random(count)
    scale = machine.kernel("scale").bind(8 * machine.processors, THREADS, (values, count, 0.9990234375))
    return scale, lambda: values[:4096]


def _build(machine: Machine, params: Params) -> Workload:
    size = machine.size(BUFFER_BYTES)
    source, target = machine.memory.allocate(size), machine.memory.allocate(size)
    source.tensor().fill_(1.0)
    comm, main = machine.stream(), machine.stream()
    gather = machine.kernel("ncclDevKernel_AllGather_emulated").bind(
        params["comm_blocks"], 2 * THREADS, (source, target, size // 16, params["rounds"]), stream=comm
    )
    compute, output = _compute(machine, params)
    ready, over = machine.event(), machine.event()
    machine.synchronize()

    def step(_: int) -> None:
        with machine.use(main):
            for _ in range(params["kernels"]):
                compute()
            ready.record(main)
            comm.wait_event(ready)
            gather()
            over.record(comm)
            for _ in range(params["kernels"]):
                compute()
            main.wait_event(over)

    def close() -> None:
        machine.synchronize()
        machine.memory.free(source)
        machine.memory.free(target)

    return Workload(step, output, close=close)


FAMILY = Family(
    name="comm_beside",
    title="A collective slows the compute beside it",
    topic=5,
    variants=(
        Variant(
            "many_blocks",
            "bad",
            _build,
            {"comm_blocks": 96, "rounds": 6, "kernels": 5, "memory_bound": 1},
            ("comm.interference",),
            MUST_NOT,
            ("dep.stream_wait",),
            "few_blocks",
            bytes=1 << 30,
        ),
        Variant(
            "few_blocks",
            "fixed",
            _build,
            {"comm_blocks": 4, "rounds": 1, "kernels": 5, "memory_bound": 1},
            (),
            ("launch.gap", "alloc.sync", "fence.interference", "copy.pageable"),
            ("comm.exposed", "comm.interference", "dep.stream_wait"),
            bytes=1 << 30,
        ),
        Variant(
            "nothing_shared",
            "decoy",
            _build,
            {"comm_blocks": 16, "rounds": 1, "kernels": 6, "memory_bound": 0},
            (),
            ("comm.interference", "launch.gap", "alloc.sync", "fence.interference"),
            ("comm.exposed", "dep.stream_wait"),
            bytes=1 << 30,
        ),
    ),
)
