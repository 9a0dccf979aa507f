"""A KV cache in virtual memory: pages mapped on the step's path, beforehand, or behind a busy device."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.relocate", "alloc.sync", "sync.device", "copy.pageable")
STEPS = 160


def _build(machine: Machine, params: Params) -> Workload:
    chunk = machine.size(params["mib"] << 20)
    grown = params["chunks"] * chunk
    cache = machine.memory.reserve(STEPS * grown)
    load = Load(machine, params["kernel_us"])
    fill = machine.kernel("fill")
    if params["ahead"]:
        for _ in range(STEPS):
            cache.grow(grown)

    def step(index: int) -> None:
        if not params["ahead"]:
            if index % STEPS == 0:
                machine.synchronize()
                cache.shrink()
            for _ in range(params["chunks"]):
                cache.grow(chunk)
        values = cache.tensor()
        end = (index % STEPS + 1) * (grown // 4)
        part = values[end - grown // 4 : end]
        fill.bind(machine.processors, THREADS, (part, part.numel(), float(index + 1)))()
        load.launch()

    def close() -> None:
        machine.synchronize()
        cache.close()

    def first_chunk() -> Any:
        return cache.tensor()[: chunk // 4].clone()

    return Workload(step, first_chunk, close=close)


def _variant(name: str, role: str, params: Params, expect: tuple[str, ...], fix: str | None = None) -> Variant:
    must_not = (*MUST_NOT, *(() if expect else ("alloc.map",)))
    if role == "bad":
        may = ("launch.gap", "host.busy")
        return Variant(name, "bad", _build, params, expect, but(must_not, *may), may, fix, bytes=3 << 30)
    return Variant(name, "fixed" if role == "fixed" else "decoy", _build, params, expect, must_not, bytes=3 << 30)


FAMILY = Family(
    name="kv_map",
    title="Mapping physical memory on the step's path",
    topic=3,
    collect="memory",
    variants=(
        _variant("in_step", "bad", {"mib": 2, "chunks": 4, "ahead": 0, "kernel_us": 200}, ("alloc.map",), "ahead"),
        _variant(
            "in_step_larger",  # half the calls: the kernel hides them, as measured
            "decoy",
            {"mib": 4, "chunks": 2, "ahead": 0, "kernel_us": 200},
            (),
        ),
        _variant("ahead", "fixed", {"mib": 2, "chunks": 4, "ahead": 1, "kernel_us": 200}, ()),
        _variant("ahead_larger", "fixed", {"mib": 4, "chunks": 2, "ahead": 1, "kernel_us": 200}, ()),
        _variant("behind_device", "decoy", {"mib": 2, "chunks": 4, "ahead": 0, "kernel_us": 3000}, ()),
    ),
)
