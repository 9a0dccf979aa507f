"""Launches and binaries that this device must refuse, and the same within its limits."""

from __future__ import annotations

from collections.abc import Callable

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS, Load

HUNGRY = """
extern "C" __global__ void hungry(float* data) {
  float x[96];
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < 96; ++k) x[k] = data[i] + k;
#pragma unroll
  for (int round = 0; round < 8; ++round)
#pragma unroll
    for (int k = 0; k < 96; ++k) x[k] = x[k] * x[(k + 1) % 96] + 1.0f;
  float total = 0.0f;
#pragma unroll
  for (int k = 0; k < 96; ++k) total += x[k];
  data[i] = total;
}
"""


def _launch(machine: Machine, params: Params) -> Workload:
    data = machine.random(params["threads"])
    kernel = machine.module(machine.compile(HUNGRY)).function("hungry")
    launch = kernel.bind(1, params["threads"], (data,))
    return _tried(machine, launch)


def _load_binary(machine: Machine, params: Params) -> Workload:
    text = Load(machine, 1).data

    def load() -> None:
        machine.module(_binary(machine, params["arch"])).function("hungry").bind(1, THREADS, (text,))()

    return _tried(machine, load)


def _binary(machine: Machine, arch: int) -> bytes:
    if machine.kind == "cpu" or not arch:
        return machine.compile(HUNGRY)
    from stallscope_probes.device.nvrtc import compile_text

    return compile_text(HUNGRY, f"sm_{arch}")


def _tried(machine: Machine, work: Callable[[], None]) -> Workload:
    import torch

    refusals: list[str] = []
    ran = torch.zeros(1, device=machine.device)

    def step(_: int) -> None:
        try:
            work()
            ran.add_(1.0)
        except RuntimeError as refusal:
            refusals.append(str(refusal))

    return Workload(step, lambda: ran, refusal=lambda: refusals[-1] if refusals else None)


FAMILY = Family(
    name="limits",
    title="Resources and capabilities of the device",
    topic=7,
    collect="nothing",
    numerics="differs",
    variants=(
        Variant("too_many_registers", "bad", _launch, {"threads": 1024}, ("valid.environment",), fix="fewer_threads"),
        Variant(
            "other_architecture", "bad", _load_binary, {"arch": 120}, ("valid.environment",), fix="own_architecture"
        ),
        Variant("fewer_threads", "fixed", _launch, {"threads": 256}, (), ("valid.environment",)),
        Variant("own_architecture", "fixed", _load_binary, {"arch": 0}, (), ("valid.environment",)),
        Variant("many_small_threads", "decoy", _launch, {"threads": 512}, (), ("valid.environment",)),
    ),
)
