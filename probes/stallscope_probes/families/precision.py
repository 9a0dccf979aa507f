"""The same product in TF32, in float32, and in float32 with another order of summation."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine

SPLITS = 8


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    side, depth = machine.side(params["side"]), machine.side(params["depth"])
    left, right = machine.random(side, depth), machine.random(depth, side, seed=1)
    out: Any = torch.zeros(side, side, device=machine.device)

    def step(_: int) -> None:
        nonlocal out
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = bool(params["tf32"])
        try:
            parts = depth // params["splits"]
            products = [left[:, at : at + parts] @ right[at : at + parts] for at in range(0, depth, parts)]
            out = torch.stack(products).sum(0)
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    return Workload(step, lambda: out, lambda: left.double().cpu() @ right.double().cpu())


FAMILY = Family(
    name="precision",
    title="A faster product that is a coarser one",
    topic=7,
    collect="nothing",
    numerics="fp64-gate",
    variants=(
        Variant(
            "tf32",
            "bad",
            _build,
            {"side": 128, "depth": 4096, "tf32": 1, "splits": 1},
            ("valid.precision_policy",),
            fix="float32",
        ),
        Variant(
            "float32",
            "fixed",
            _build,
            {"side": 128, "depth": 4096, "tf32": 0, "splits": 1},
            (),
            ("valid.precision_policy", "valid.numerics"),
        ),
        Variant(
            "float32_split",
            "decoy",
            _build,
            {"side": 128, "depth": 4096, "tf32": 0, "splits": SPLITS},
            (),
            ("valid.precision_policy", "valid.numerics", "valid.race"),
        ),
    ),
)
