"""A stream held by a host function, the same without it, and a host function on a stream nobody waits for."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "sync.stream", "host.busy")


def _build(machine: Machine, params: Params) -> Workload:
    main, side = machine.stream(), machine.stream()
    load = Load(machine, 200, stream=main)
    machine.synchronize()

    def step(_: int) -> None:
        load.launch()
        if params["callback_us"]:
            with machine.use(side if params["aside"] else main):
                machine.host_callback(params["callback_us"])
        load.launch()

    return Workload(step, lambda: load.data)


FAMILY = Family(
    name="host_callback",
    title="A stream waits for a host function",
    topic=2,
    variants=(
        Variant(
            "in_stream",
            "bad",
            _build,
            {"callback_us": 500, "aside": 0},
            ("dep.host_callback",),
            but(MUST_NOT, "launch.gap"),
            fix="without",
            may=("launch.gap",),
            gain_note="inferred: nsys 2023.4 records no host functions",
        ),
        Variant("without", "fixed", _build, {"callback_us": 0, "aside": 0}, (), ("dep.host_callback", *MUST_NOT)),
        Variant(
            "other_stream", "decoy", _build, {"callback_us": 200, "aside": 1}, (), ("dep.host_callback", *MUST_NOT)
        ),
    ),
)
