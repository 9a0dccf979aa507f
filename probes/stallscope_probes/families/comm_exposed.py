"""A stand-in collective that waits for its peer: before the compute, beside it; and compute of the same length.

One GPU has no peer, so the host raises the flag that a peer would raise. The spin is bounded.
"""

from __future__ import annotations

import time

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.sync", "fence.interference", "comm.interference", "copy.pageable")
BLOCKS = 8
SPIN_BOUND = 3_000_000


def _collective(machine: Machine, params: Params) -> Workload:
    import torch

    flag = torch.zeros(1, dtype=torch.int32, pin_memory=machine.kind == "cuda")
    data = machine.random(BLOCKS * THREADS)
    kernel = machine.kernel("ncclDevKernel_AllReduce_Sum_f32_emulated")
    comm, main = machine.stream(), machine.stream()
    load = Load(machine, params["load_us"], stream=main)
    ready = machine.event()
    machine.synchronize()

    def step(index: int) -> None:
        kernel.bind(BLOCKS, THREADS, (flag, index + 1, SPIN_BOUND, data), stream=comm)()
        if params["dependent"]:
            ready.record(comm)
            main.wait_event(ready)
        load.launch()
        time.sleep(params["delay_us"] / 1e6)
        flag[0] = index + 1
        machine.synchronize()

    return Workload(step, lambda: load.data)


def _compute(machine: Machine, params: Params) -> Workload:
    first, second = Load(machine, params["delay_us"], blocks=BLOCKS), Load(machine, params["load_us"])

    def step(_: int) -> None:
        first.launch()
        second.launch()

    return Workload(step, lambda: second.data)


FAMILY = Family(
    name="comm_exposed",
    title="A collective nothing runs beside",
    topic=5,
    variants=(
        Variant(
            "dependent",
            "bad",
            _collective,
            {"delay_us": 1500, "load_us": 1500, "dependent": 1},
            ("comm.exposed",),
            MUST_NOT,
            ("sync.device", "comm.peer_wait", "dep.stream_wait"),
            "beside",
        ),
        Variant(
            "beside",
            "fixed",
            _collective,
            {"delay_us": 1500, "load_us": 1500, "dependent": 0},
            (),
            ("dep.stream_wait", *MUST_NOT),
            ("sync.device", "comm.exposed"),
        ),
        Variant(
            "compute_of_that_length",
            "decoy",
            _compute,
            {"delay_us": 1500, "load_us": 1500},
            (),
            ("comm.exposed", "comm.peer_wait", *MUST_NOT),
        ),
    ),
)
