"""Compute beside a stand-in collective: a grid of exactly one wave, one that leaves room, and a small one.

The collective's blocks hold a quarter of a multiprocessor each for a set time, as those of one that the link paces do.
A grid of exactly one wave then needs a second one (wave quantization); the same work in fewer, longer blocks does not.
"""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine

MUST_NOT = ("launch.gap", "alloc.sync", "fence.interference", "copy.pageable", "sync.device")
THREADS = 128
BLOCKS_A_PROCESSOR = 4


def _build(machine: Machine, params: Params) -> Workload:
    wave = BLOCKS_A_PROCESSOR * machine.processors
    grid = params["blocks"] or max(1, wave - params["spared"])
    work_us = params["kernel_us"] * (wave / grid if params["spared"] else 1.0)
    data = machine.random(wave * THREADS)
    compute = machine.kernel("busy_shared").bind(grid, THREADS, (data, machine.iterations(work_us)))
    received = machine.random(params["comm_blocks"] * THREADS)
    comm, main = machine.stream(), machine.stream()
    gather = machine.kernel("ncclDevKernel_AllGather_emulated").bind(
        params["comm_blocks"], THREADS, (received, 1000 * params["comm_us"]), stream=comm
    )
    ready, over = machine.event(), machine.event()
    machine.synchronize()

    def step(_: int) -> None:
        with machine.use(main):
            for _ in range(params["alone"]):
                compute()
            ready.record(main)
            comm.wait_event(ready)
            gather()
            over.record(comm)
            for _ in range(params["beside"]):
                compute()
            main.wait_event(over)

    return Workload(step, lambda: received)


def _params(*, blocks: int = 0, spared: int = 0) -> Params:
    shape = {"blocks": blocks, "spared": spared, "kernel_us": 100, "alone": 4, "beside": 8}
    return {**shape, "comm_blocks": 32, "comm_us": 1200}


FAMILY = Family(
    name="comm_beside",
    title="A collective slows the compute beside it",
    topic=5,
    variants=(
        Variant(
            "whole_wave",
            "bad",
            _build,
            _params(),
            ("comm.interference",),
            MUST_NOT,
            ("dep.stream_wait", "comm.exposed"),
            "room_left",
        ),
        Variant(
            "room_left",
            "fixed",
            _build,
            _params(spared=32),
            (),
            ("comm.interference", *MUST_NOT),
            ("dep.stream_wait", "comm.exposed"),
        ),
        Variant(
            "small_grid",
            "decoy",
            _build,
            _params(blocks=32),
            (),
            ("comm.interference", *MUST_NOT),
            ("dep.stream_wait", "comm.exposed"),
        ),
    ),
)
