"""Short dependent kernels in a graph, with and without programmatic dependent launch, and long ones."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "host.busy", "init.graph")


def _build(machine: Machine, params: Params) -> Workload:
    data = machine.random(machine.processors * THREADS)
    kernel = machine.kernel("busy_dependent" if params["programmatic"] else "busy")
    launch = kernel.bind(
        machine.processors,
        THREADS,
        (data, machine.iterations(params["kernel_us"])),
        attributes=("programmatic",) if params["programmatic"] else (),
    )

    def chain() -> None:
        for _ in range(params["kernels"]):
            launch()

    replay = machine.graph(chain)
    return Workload(lambda _: replay(), lambda: data)


FAMILY = Family(
    name="pdl",
    title="Launch latency between dependent kernels",
    topic=2,
    collect="graph",
    needs=("programmatic launch",),
    variants=(
        Variant(
            "serialized",
            "bad",
            _build,
            {"kernels": 50, "kernel_us": 3, "programmatic": 0},
            ("launch.drain",),
            MUST_NOT,
            fix="programmatic",
            gain_note="launch.drain is a note and predicts nothing",
        ),
        Variant(
            "programmatic",
            "fixed",
            _build,
            {"kernels": 50, "kernel_us": 3, "programmatic": 1},
            (),
            MUST_NOT,
            ("launch.drain",),
        ),
        Variant(
            "long_kernels",
            "decoy",
            _build,
            {"kernels": 4, "kernel_us": 400, "programmatic": 0},
            (),
            ("launch.drain", *MUST_NOT),
        ),
    ),
)
