"""Weights that come from the host layer by layer: when needed, one layer ahead, and more than the link carries."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "copy.pageable", "alloc.sync", "sync.device", "uvm.fault_gpu")
SLOTS = 2


def _build(machine: Machine, params: Params) -> Workload:
    count = machine.size(params["mib"] << 20) // 4
    weights = [machine.host(count, pinned=True, seed=layer) for layer in range(params["layers"])]
    slots = [machine.random(count) for _ in range(SLOTS)]
    side, main = machine.stream(), machine.stream()
    arrived = [machine.event() for _ in range(SLOTS)]
    used = [machine.event() for _ in range(SLOTS)]
    load = Load(machine, params["load_us"], stream=main)
    machine.synchronize()

    def fetch(layer: int, stream: Any) -> None:
        slot = layer % SLOTS
        with machine.use(stream):
            stream.wait_event(used[slot])
            slots[slot].copy_(weights[layer % len(weights)], non_blocking=True)
            arrived[slot].record(stream)

    def compute(layer: int) -> None:
        main.wait_event(arrived[layer % SLOTS])
        load.launch()
        used[layer % SLOTS].record(main)

    def serial(_: int) -> None:
        for layer in range(params["layers"]):
            fetch(layer, main)
            compute(layer)

    def ahead(_: int) -> None:
        for layer in range(params["layers"]):
            fetch(layer + 1, side)
            compute(layer)

    def resident(_: int) -> None:
        for _ in range(params["layers"]):
            load.launch()

    if not params["fetched"]:
        return Workload(resident, lambda: load.data)
    if params["ahead"]:
        fetch(0, side)
    return Workload(ahead if params["ahead"] else serial, lambda: load.data)


FAMILY = Family(
    name="offload",
    title="Offloaded weights on the step's path",
    topic=6,
    variants=(
        Variant(
            "serial",
            "bad",
            _build,
            {"layers": 8, "mib": 16, "load_us": 450, "ahead": 0, "fetched": 1},
            ("offload.exposed",),
            MUST_NOT,
            ("copy.exposed",),
            "ahead",
            bytes=256 << 20,
            gain_note="above the bound: the repair also overlaps the first fetch of the next step",
        ),
        Variant(
            "ahead",
            "fixed",
            _build,
            {"layers": 8, "mib": 16, "load_us": 450, "ahead": 1, "fetched": 1},
            (),
            ("offload.exposed", "copy.exposed", *MUST_NOT),
            bytes=256 << 20,
        ),
        Variant(
            "saturated",
            "decoy",
            _build,
            {"layers": 8, "mib": 16, "load_us": 100, "ahead": 1, "fetched": 1},
            (),
            MUST_NOT,
            ("offload.exposed", "copy.exposed", "ok.copy_bound"),
            bytes=256 << 20,
        ),
        Variant(
            "resident",
            "decoy",
            _build,
            {"layers": 8, "mib": 16, "load_us": 450, "ahead": 0, "fetched": 0},
            (),
            ("offload.exposed", "copy.exposed", *MUST_NOT),
            bytes=256 << 20,
        ),
    ),
)
