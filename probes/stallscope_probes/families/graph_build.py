"""A CUDA graph captured again in every step, captured once, and the same kernels launched plainly."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "sync.stream", "copy.pageable")


def _recaptured(machine: Machine, params: Params) -> Workload:
    load = Load(machine, params["kernel_us"])

    def chain() -> None:
        for _ in range(params["kernels"]):
            load.launch()

    def step(_: int) -> None:
        machine.graph(chain)()

    return Workload(step, lambda: load.data)


def _replayed(machine: Machine, params: Params) -> Workload:
    load = Load(machine, params["kernel_us"])

    def chain() -> None:
        for _ in range(params["kernels"]):
            load.launch()

    replay = machine.graph(chain)
    return Workload(lambda _: replay(), lambda: load.data)


def _plain(machine: Machine, params: Params) -> Workload:
    load = Load(machine, params["kernel_us"])

    def step(_: int) -> None:
        for _ in range(params["kernels"]):
            load.launch()

    return Workload(step, lambda: load.data)


FAMILY = Family(
    name="graph_build",
    title="A graph captured in every step",
    topic=4,
    collect="graph",
    variants=(
        Variant(
            "recaptured",
            "bad",
            _recaptured,
            {"kernels": 20, "kernel_us": 10},
            ("init.graph",),
            but(MUST_NOT, "launch.gap", "launch.drain"),
            ("launch.gap", "launch.drain"),
            "replayed",
        ),
        Variant(
            "replayed",
            "fixed",
            _replayed,
            {"kernels": 20, "kernel_us": 10},
            (),
            ("init.graph", *MUST_NOT),
            ("launch.drain",),
        ),
        Variant("plain", "decoy", _plain, {"kernels": 20, "kernel_us": 100}, (), ("init.graph", *MUST_NOT)),
    ),
)
