"""An event wait that the data does not need, the same work without it, and one behind kernels that fill the device."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "dep.default_stream", "copy.exposed")
WHOLE_DEVICE = 8


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    blocks = params["blocks"] or WHOLE_DEVICE * machine.processors
    first, second = machine.stream(), machine.stream()
    loads = [Load(machine, params["kernel_us"], blocks=blocks, stream=stream) for stream in (first, second)]
    done = [machine.event(), machine.event()]
    machine.synchronize()

    def step(_: int) -> None:
        loads[0].launch()
        done[0].record(first)
        if params["wait"]:
            second.wait_event(done[0])
        loads[1].launch()
        done[1].record(second)
        first.wait_event(done[1])
        second.wait_event(done[0])

    return Workload(step, lambda: torch.cat([load.data for load in loads]))


FAMILY = Family(
    name="stream_wait",
    title="An event wait stricter than the data",
    topic=2,
    variants=(
        Variant(
            "too_strict",
            "bad",
            _build,
            {"wait": 1, "blocks": 48, "kernel_us": 300},
            ("dep.stream_wait",),
            MUST_NOT,
            fix="independent",
            gain_note="above the bound: clock differences between capture and timing",
        ),
        Variant(
            "independent",
            "fixed",
            _build,
            {"wait": 0, "blocks": 48, "kernel_us": 300},
            (),
            ("dep.stream_wait", *MUST_NOT),
        ),
        Variant(
            "whole_device",
            "decoy",
            _build,
            {"wait": 1, "blocks": 0, "kernel_us": 60},
            (),
            ("dep.stream_wait", *MUST_NOT),
        ),
    ),
)
