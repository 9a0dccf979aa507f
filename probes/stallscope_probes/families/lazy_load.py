"""Kernels called for the first time in the step, loaded beforehand, and called again."""

from __future__ import annotations

from collections.abc import Callable

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine, Module
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("alloc.sync", "sync.device", "init.jit", "copy.pageable")
MODULES = 96


def kernels_text(count: int) -> str:
    """CUDA C++ of `count` different small kernels named k0, k1 and so on."""
    template = (
        'extern "C" __global__ void k{0}(float* data) {{\n'
        "  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;\n"
        "  data[i] = data[i] * 0.5f + 1.0f;\n"
        "#pragma unroll\n"
        "  for (int k = 0; k < {0}; ++k) data[i] = data[i] * 0.5f + 1.0f;\n"
        "}}\n"
    )
    return "".join(template.format(index) for index in range(count))


def _build(machine: Machine, params: Params) -> Workload:
    binary = machine.compile(kernels_text(params["kernels"]))
    data = machine.random(machine.processors * THREADS)
    load = Load(machine, params["load_us"])
    names = [f"k{index}" for index in range(params["kernels"])]
    modules = [machine.module(binary) for _ in range(1 if params["again"] else MODULES)]

    def launches(module: Module) -> list[Callable[[], None]]:
        functions = [module.function(name) for name in names]
        if params["preload"]:
            for function in functions:
                function.load()
        return [function.bind(machine.processors, THREADS, (data,)) for function in functions]

    ready = [launches(module) for module in modules] if params["preload"] else []

    def step(index: int) -> None:
        slot = index % len(modules)
        for launch in ready[slot] if ready else launches(modules[slot]):
            launch()
        load.launch()

    def close() -> None:
        machine.synchronize()
        for module in modules:
            module.close()

    return Workload(step, lambda: data, close=close)


FAMILY = Family(
    name="lazy_load",
    title="Kernels loaded at their first call",
    topic=4,
    environment={"CUDA_MODULE_LOADING": "LAZY"},
    variants=(
        Variant(
            "first_call",
            "bad",
            _build,
            {"kernels": 16, "load_us": 300, "preload": 0, "again": 0},
            ("init.lazy_load",),
            MUST_NOT,
            ("launch.gap",),
            "preloaded",
            gain_note="loading costs far more under the profiler than without",
        ),
        Variant(
            "preloaded",
            "fixed",
            _build,
            {"kernels": 16, "load_us": 300, "preload": 1, "again": 0},
            (),
            but(("init.lazy_load", *MUST_NOT), "launch.gap", "host.busy"),
            ("launch.gap", "host.busy"),
        ),
        Variant(
            "called_again",
            "decoy",
            _build,
            {"kernels": 16, "load_us": 400, "preload": 1, "again": 1},
            (),
            ("init.lazy_load", *MUST_NOT),
            ("launch.gap",),
        ),
    ),
)
