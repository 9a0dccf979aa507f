"""Python work between submissions: on the critical path, moved away, and hidden behind a busy device."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load, python_work

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "input.wait")


def _build(machine: Machine, params: Params) -> Workload:
    load = Load(machine, params["kernel_us"])

    def step(_: int) -> None:
        if params["python_us"]:
            with machine.nvtx("tokenize"):
                python_work(params["python_us"])
        for _ in range(params["kernels"]):
            load.launch()

    return Workload(step, lambda: load.data)


FAMILY = Family(
    name="host_busy",
    title="Python work on the submitting thread",
    topic=4,
    variants=(
        Variant(
            "between",
            "bad",
            _build,
            {"python_us": 1000, "kernels": 4, "kernel_us": 100},
            ("host.busy",),
            MUST_NOT,
            fix="elsewhere",
            gain_note="timed blocks of five start with an empty queue, the captured window does not",
        ),
        Variant(
            "between_short",
            "bad",
            _build,
            {"python_us": 400, "kernels": 4, "kernel_us": 50},
            ("host.busy",),
            MUST_NOT,
            fix="elsewhere_short",
        ),
        Variant(
            "elsewhere",
            "fixed",
            _build,
            {"python_us": 0, "kernels": 4, "kernel_us": 100},
            (),
            ("host.busy", *MUST_NOT),
        ),
        Variant(
            "elsewhere_short",
            "fixed",
            _build,
            {"python_us": 0, "kernels": 4, "kernel_us": 50},
            (),
            ("host.busy", *MUST_NOT),
        ),
        Variant(
            "behind_device",
            "decoy",
            _build,
            {"python_us": 1000, "kernels": 4, "kernel_us": 500},
            (),
            ("host.busy", *MUST_NOT),
        ),
    ),
)
