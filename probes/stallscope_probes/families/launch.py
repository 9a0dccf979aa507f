"""Tiny operations issued one by one against the same operations as one CUDA graph."""

from __future__ import annotations

import time

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

OTHERS = ("alloc.sync", "sync.scalar", "uvm.fault_gpu", "copy.pageable", "input.wait")


def _eager(machine: Machine, params: Params) -> Workload:
    values = machine.random(params["elements"])

    def step(_: int) -> None:
        for _ in range(params["kernels"]):
            values.mul_(0.9990234375)

    return Workload(step, lambda: values)


def _graph(machine: Machine, params: Params) -> Workload:
    values = machine.random(params["elements"])

    def chain() -> None:
        for _ in range(params["kernels"]):
            values.mul_(0.9990234375)

    replay = machine.graph(chain)
    return Workload(lambda _: replay(), lambda: values)


def _large(machine: Machine, params: Params) -> Workload:
    side = machine.side(params["side"])
    left, right = machine.random(side, side, dtype="bfloat16"), machine.random(side, side, dtype="bfloat16", seed=1)
    out = left @ right

    def step(_: int) -> None:
        import torch

        for _ in range(params["kernels"]):
            torch.mm(left, right, out=out)

    return Workload(step, out.float)


def _sleeping(machine: Machine, params: Params) -> Workload:
    load = Load(machine, 100)

    def step(_: int) -> None:
        for _ in range(params["kernels"]):
            load.launch()
        time.sleep(params["sleep_us"] / 1e6)

    return Workload(step, lambda: load.data)


FAMILY = Family(
    name="launch",
    title="Launch gaps of an eager chain",
    topic=4,
    collect="graph",
    variants=(
        Variant("eager", "bad", _eager, {"kernels": 50, "elements": 4096}, ("launch.gap",), OTHERS, fix="graph"),
        Variant(
            "eager_wide", "bad", _eager, {"kernels": 80, "elements": 1 << 18}, ("launch.gap",), OTHERS, fix="graph_wide"
        ),
        Variant("graph", "fixed", _graph, {"kernels": 50, "elements": 4096}, (), ("launch.gap", *OTHERS)),
        Variant("graph_wide", "fixed", _graph, {"kernels": 80, "elements": 1 << 18}, (), ("launch.gap", *OTHERS)),
        Variant("large", "decoy", _large, {"kernels": 5, "side": 4096}, (), ("launch.gap", *OTHERS), bytes=128 << 20),
        Variant(
            "sleeping", "decoy", _sleeping, {"kernels": 4, "sleep_us": 1000}, ("host.busy",), ("launch.gap", *OTHERS)
        ),
    ),
)
