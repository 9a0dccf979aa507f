"""A BF16 product summed from 32 BF16 partial products, from float32 ones, and in one pass."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    side, depth = machine.side(params["side"]), machine.side(params["depth"])
    left = machine.random(side, depth, dtype="bfloat16")
    right = machine.random(depth, side, dtype="bfloat16", seed=1)
    chunk = depth // params["splits"]
    out: Any = torch.zeros(side, side, device=machine.device)

    def partial(at: int) -> Any:
        a, b = left[:, at : at + chunk], right[at : at + chunk]
        return a.float() @ b.float() if params["float_partials"] else (a @ b)

    def step(_: int) -> None:
        nonlocal out
        total = partial(0)
        for at in range(chunk, depth, chunk):
            total = total + partial(at)
        out = total.float()

    return Workload(step, lambda: out, lambda: left.double().cpu() @ right.double().cpu())


FAMILY = Family(
    name="split_k",
    title="Partial sums in the input's precision",
    topic=7,
    collect="nothing",
    numerics="fp64-gate",
    precision="bf16",
    variants=(
        Variant(
            "bf16_partials",
            "bad",
            _build,
            {"side": 128, "depth": 4096, "splits": 32, "float_partials": 0},
            ("valid.numerics",),
            fix="float32_partials",
        ),
        Variant(
            "float32_partials",
            "fixed",
            _build,
            {"side": 128, "depth": 4096, "splits": 32, "float_partials": 1},
            (),
            ("valid.numerics", "valid.precision_policy"),
        ),
        Variant(
            "one_pass",
            "decoy",
            _build,
            {"side": 128, "depth": 4096, "splits": 1, "float_partials": 0},
            (),
            ("valid.numerics", "valid.precision_policy"),
        ),
    ),
)
