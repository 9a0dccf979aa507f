"""Reading the loss on the host every step, never, and a few steps late."""

from __future__ import annotations

from collections import deque
from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine

MUST_NOT = ("alloc.sync", "input.wait", "copy.pageable", "sync.device")
LAG_STEPS = 3


class _Training:
    """Two products and a loss, added up on the device."""

    def __init__(self, machine: Machine, params: Params) -> None:
        import torch

        side = machine.side(params["side"])
        self.left = machine.random(side, side, dtype="bfloat16")
        self.right = machine.random(side, side, dtype="bfloat16", seed=1)
        self.total = torch.zeros((), device=machine.device)

    def step(self) -> Any:
        hidden = self.left @ self.right
        loss = (hidden @ self.right).float().mean()
        self.total += loss
        return loss


def _every_step(machine: Machine, params: Params) -> Workload:
    training = _Training(machine, params)

    def step(_: int) -> None:
        training.step().item()

    return Workload(step, lambda: training.total)


def _on_device(machine: Machine, params: Params) -> Workload:
    training = _Training(machine, params)

    def step(_: int) -> None:
        training.step()

    return Workload(step, lambda: training.total)


def _late(machine: Machine, params: Params) -> Workload:
    training = _Training(machine, params)
    landing = [machine.host(1, pinned=True) for _ in range(LAG_STEPS + 1)]
    pending: deque[Any] = deque()

    def step(index: int) -> None:
        landing[index % len(landing)].copy_(training.step(), non_blocking=True)
        copied = machine.event()
        copied.record()
        pending.append(copied)
        if len(pending) > LAG_STEPS:
            pending.popleft().synchronize()

    return Workload(step, lambda: training.total)


FAMILY = Family(
    name="sync_scalar",
    title="A scalar read back every step",
    topic=4,
    variants=(
        Variant(
            "item",
            "bad",
            _every_step,
            {"side": 4096},
            ("sync.scalar",),
            ("launch.gap", *MUST_NOT),
            fix="on_device",
            bytes=256 << 20,
            gain_note="launches after the sync cost more under the profiler than without",
        ),
        Variant(
            "item_small",
            "bad",
            _every_step,
            {"side": 2048},
            ("sync.scalar",),
            MUST_NOT,
            ("launch.gap",),
            "on_device_small",
            gain_note="launches after the sync cost more under the profiler than without",
        ),
        Variant(
            "on_device",
            "fixed",
            _on_device,
            {"side": 4096},
            (),
            ("sync.scalar", "launch.gap", *MUST_NOT),
            bytes=256 << 20,
        ),
        Variant("on_device_small", "fixed", _on_device, {"side": 2048}, (), ("sync.scalar",), ("launch.gap",)),
        Variant(
            "late",
            "decoy",
            _late,
            {"side": 4096},
            (),
            ("sync.scalar", "sync.event", "launch.gap", *MUST_NOT),
            bytes=256 << 20,
        ),
    ),
)
