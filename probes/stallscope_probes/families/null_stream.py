"""Independent small kernels on the legacy default stream and a blocking stream, against two non-blocking streams."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "copy.exposed", "dep.stream_wait")
WHOLE_DEVICE = 8


def _two_streams(machine: Machine, params: Params) -> tuple[Any, Any]:
    if params["non_blocking"]:
        return machine.stream(), machine.stream()
    return machine.legacy_stream(), machine.stream(blocking=True)


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    blocks = params["blocks"] or WHOLE_DEVICE * machine.processors
    streams = _two_streams(machine, params)
    loads = [Load(machine, params["kernel_us"], blocks=blocks, stream=stream) for stream in streams]
    machine.synchronize()

    def step(_: int) -> None:
        for _ in range(params["pairs"]):
            for load in loads:
                load.launch()

    return Workload(step, lambda: torch.cat([load.data for load in loads]))


FAMILY = Family(
    name="null_stream",
    title="Streams serialised by the legacy default stream",
    topic=2,
    variants=(
        Variant(
            "legacy",
            "bad",
            _build,
            {"non_blocking": 0, "blocks": 48, "kernel_us": 150, "pairs": 3},
            ("dep.default_stream",),
            MUST_NOT,
            fix="non_blocking",
            gain_note="above the bound: clock differences between capture and timing",
        ),
        Variant(
            "non_blocking",
            "fixed",
            _build,
            {"non_blocking": 1, "blocks": 48, "kernel_us": 150, "pairs": 3},
            (),
            ("dep.default_stream", *MUST_NOT),
        ),
        Variant(
            "legacy_whole_device",
            "decoy",
            _build,
            {"non_blocking": 0, "blocks": 0, "kernel_us": 40, "pairs": 3},
            (),
            ("dep.default_stream", *MUST_NOT),
        ),
    ),
)
