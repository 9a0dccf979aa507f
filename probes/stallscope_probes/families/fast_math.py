"""A chain of exponentials and divisions compiled with fast math, without, and with the divisions made exact."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS

BLOCKS = 16
TEXT = """
extern "C" __global__ void softplus_chain(const float* x, float* y) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  float value = x[i];
  y[i] = logf(1.0f + expf(-fabsf(value) * 12.0f)) / (1.0f + sinf(value * 4000.0f) * sinf(value * 4000.0f));
}
"""


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    source = machine.random(BLOCKS * THREADS)
    out = torch.zeros_like(source)
    if machine.kind == "cpu":
        return Workload(lambda _: out.copy_(_exact(source)), lambda: out, lambda: _exact(source.double()))
    module = machine.module(machine.compile(TEXT, fast_math=bool(params["fast"])))
    launch = module.function("softplus_chain").bind(BLOCKS, THREADS, (source, out))
    return Workload(lambda _: launch(), lambda: out, lambda: _exact(source.double().cpu()))


def _exact(values: Any) -> Any:
    import torch

    slope = torch.log1p(torch.exp(-torch.abs(values) * 12.0))
    return slope / (1.0 + torch.sin(values * 4000.0) ** 2)


FAMILY = Family(
    name="fast_math",
    title="Fast-math intrinsics",
    topic=7,
    collect="nothing",
    numerics="fp64-gate",
    variants=(
        Variant("fast", "bad", _build, {"fast": 1}, ("valid.numerics",), fix="exact"),
        Variant("exact", "fixed", _build, {"fast": 0}, (), ("valid.numerics", "valid.precision_policy")),
        Variant("exact_again", "decoy", _build, {"fast": 0}, (), ("valid.numerics", "valid.race")),
    ),
)
