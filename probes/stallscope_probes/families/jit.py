"""PTX compiled by the driver in the step, machine code loaded in the step, and nothing loaded."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "copy.pageable")
TEXT = """
extern "C" __global__ void generated(float* data) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  float x = data[i];
#pragma unroll 1
  for (int k = 0; k < 512; ++k) x = x * 0.75f + sinf(x) * 0.125f;
  data[i] = x;
}
"""


def _build(machine: Machine, params: Params) -> Workload:
    binary = machine.compile(TEXT, ptx=bool(params["ptx"]))
    text = binary.rstrip(b" \0")
    data = machine.random(machine.processors * THREADS)
    load = Load(machine, 1000)
    kept = machine.module(binary)

    def step(index: int) -> None:
        # the driver remembers what it compiled, so every step's text is unlike any before
        content = text + b"\n// %d\n\0" % index if params["ptx"] else binary
        module = machine.module(content) if params["in_step"] else kept
        module.function("generated").bind(machine.processors, THREADS, (data,))()
        load.launch()

    return Workload(step, lambda: data)


FAMILY = Family(
    name="jit",
    title="PTX compiled while the step waits",
    topic=4,
    environment={"CUDA_CACHE_DISABLE": "1", "CUDA_MODULE_LOADING": "LAZY"},
    variants=(
        Variant(
            "ptx", "bad", _build, {"ptx": 1, "in_step": 1}, ("init.jit",), MUST_NOT, ("init.lazy_load",), "machine_code"
        ),
        Variant(
            "machine_code", "fixed", _build, {"ptx": 0, "in_step": 0}, (), ("init.jit", "init.lazy_load", *MUST_NOT)
        ),
        Variant(
            "loaded_in_step",
            "decoy",
            _build,
            {"ptx": 0, "in_step": 1},
            (),
            ("init.jit", *MUST_NOT),
            ("init.lazy_load",),
        ),
    ),
)
