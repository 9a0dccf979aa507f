"""Page-locking host memory in the step, against buffers that stay locked."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("alloc.sync", "copy.pageable", "sync.device")
USED_BYTES = 64 << 10


def _pinned_every_step(machine: Machine, params: Params) -> Workload:
    load, target = Load(machine, 400), machine.random(USED_BYTES // 4)

    def step(index: int) -> None:
        block = machine.memory.pin(machine.size(params["mib"] << 20))
        values = block.tensor()[: USED_BYTES // 4]
        values.fill_(float(index))
        target.copy_(values, non_blocking=True)
        load.launch()
        machine.memory.unpin(block)

    return Workload(step, lambda: target)


def _registered_every_step(machine: Machine, params: Params) -> Workload:
    load, target = Load(machine, 400), machine.random(USED_BYTES // 4)
    buffer = machine.host(machine.size(params["mib"] << 20) // 4, pinned=False)

    def step(index: int) -> None:
        machine.memory.register(buffer)
        values = buffer[: USED_BYTES // 4]
        values.fill_(float(index))
        target.copy_(values, non_blocking=True)
        load.launch()
        machine.memory.unregister(buffer)

    return Workload(step, lambda: target)


def _kept(machine: Machine, params: Params) -> Workload:
    load, target = Load(machine, 400), machine.random(USED_BYTES // 4)
    blocks = [machine.memory.pin(machine.size(params["mib"] << 20)) for _ in range(2)]
    copied = [machine.event() for _ in blocks]

    def step(index: int) -> None:
        slot = index % 2
        copied[slot].synchronize()
        values = blocks[slot].tensor()[: USED_BYTES // 4]
        values.fill_(float(index))
        target.copy_(values, non_blocking=True)
        copied[slot].record()
        load.launch()

    def close() -> None:
        for block in blocks:
            machine.memory.unpin(block)

    return Workload(step, lambda: target, close=close)


def _cached(machine: Machine, params: Params) -> Workload:
    import torch

    load, target = Load(machine, 400), machine.random(USED_BYTES // 4)
    pin = machine.kind == "cuda"
    copied = [machine.event() for _ in range(2)]

    def step(index: int) -> None:
        copied[index % 2].synchronize()
        buffer = torch.empty(machine.size(params["mib"] << 20) // 4, pin_memory=pin)
        values = buffer[: USED_BYTES // 4]
        values.fill_(float(index))
        target.copy_(values, non_blocking=True)
        copied[index % 2].record()
        load.launch()

    return Workload(step, lambda: target)


FAMILY = Family(
    name="alloc_pinned",
    title="Page-locking host memory in the step",
    topic=4,
    collect="memory",
    variants=(
        Variant(
            "allocated", "bad", _pinned_every_step, {"mib": 8}, ("alloc.pinned",), MUST_NOT, ("launch.gap",), "kept"
        ),
        Variant(
            "registered",
            "bad",
            _registered_every_step,
            {"mib": 8},
            ("alloc.pinned",),
            MUST_NOT,
            ("launch.gap",),
            "kept",
        ),
        Variant(
            "kept",
            "fixed",
            _kept,
            {"mib": 8},
            (),
            ("alloc.pinned", "sync.event", *MUST_NOT),
            ("launch.gap", "copy.exposed"),
        ),
        Variant(
            "cached", "decoy", _cached, {"mib": 8}, (), ("alloc.pinned", *MUST_NOT), ("launch.gap", "copy.exposed")
        ),
    ),
)
