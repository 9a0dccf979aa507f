"""A growing KV cache: by concatenation, by copying into a larger buffer, in place, and in mapped pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "sync.device", "copy.pageable", "uvm.fault_gpu")
CYCLE = 16
WIDTH = 1024


class _Decoder:
    """Attention over the whole cache, and ballast."""

    def __init__(self, machine: Machine, params: Params) -> None:
        self.rows = machine.size(params["mib"] << 20) // (4 * WIDTH)
        self.token = machine.random(self.rows, WIDTH)
        self.query = machine.random(WIDTH, seed=1)
        self.scores = machine.random(self.rows * CYCLE, seed=2)
        self._load = Load(machine, 150)

    def attend(self, cache: Any) -> None:
        import torch

        torch.mv(cache, self.query, out=self.scores[: cache.shape[0]])
        self._load.launch()


def _growing(grow: Callable[[Any, Any], Any]) -> Callable[[Machine, Params], Workload]:
    def build(machine: Machine, params: Params) -> Workload:
        decoder = _Decoder(machine, params)
        cache = decoder.token.clone()

        def step(index: int) -> None:
            nonlocal cache
            cache = decoder.token.clone() if index % CYCLE == 0 else grow(cache, decoder.token)
            decoder.attend(cache)

        for index in range(CYCLE + 1):
            step(index)
        return Workload(step, lambda: decoder.scores)

    return build


def _concatenate(cache: Any, token: Any) -> Any:
    import torch

    return torch.cat([cache, token])


def _relocate(cache: Any, token: Any) -> Any:
    import torch

    larger = torch.empty(cache.shape[0] + token.shape[0], WIDTH, device=cache.device)
    larger[: cache.shape[0]].copy_(cache)
    larger[cache.shape[0] :].copy_(token)
    return larger


def _preallocated(machine: Machine, params: Params) -> Workload:
    decoder = _Decoder(machine, params)
    cache = machine.random(decoder.rows * CYCLE, WIDTH)

    def step(index: int) -> None:
        end = decoder.rows * (index % CYCLE + 1)
        cache[end - decoder.rows : end].copy_(decoder.token)
        decoder.attend(cache[:end])

    for index in range(CYCLE + 1):
        step(index)
    return Workload(step, lambda: decoder.scores)


def _beam(machine: Machine, params: Params) -> Workload:
    import torch

    decoder = _Decoder(machine, params)
    cache = machine.random(decoder.rows * CYCLE // 2, WIDTH)
    other = torch.empty_like(cache)
    order = torch.arange(cache.shape[0], device=machine.device).flip(0)

    def step(_: int) -> None:
        nonlocal cache, other
        torch.index_select(cache, 0, order, out=other)
        cache, other = other, cache
        decoder.attend(cache)

    return Workload(step, lambda: decoder.scores)


FAMILY = Family(
    name="kv_cache",
    title="A KV cache that grows by copying itself",
    topic=3,
    collect="memory",
    variants=(
        Variant(
            "concatenate",
            "bad",
            _growing(_concatenate),
            {"mib": 16},
            ("alloc.relocate",),
            ("alloc.sync", *MUST_NOT),
            fix="preallocated",
            bytes=4 << 30,
            gain_note="the part that is appended is copied by the same kernel and stays",
        ),
        Variant(
            "copy_to_larger",
            "bad",
            _growing(_relocate),
            {"mib": 16},
            ("alloc.relocate",),
            but(("alloc.sync", *MUST_NOT), "copy.exposed", "launch.gap"),
            ("copy.exposed", "launch.gap"),
            "preallocated",
            bytes=4 << 30,
        ),
        Variant(
            "preallocated",
            "fixed",
            _preallocated,
            {"mib": 16},
            (),
            ("alloc.relocate", "alloc.sync", *MUST_NOT),
            ("copy.exposed",),
            bytes=1 << 30,
        ),
        Variant(
            "beam_reorder", "decoy", _beam, {"mib": 16}, (), ("alloc.relocate", "alloc.sync", *MUST_NOT), bytes=1 << 30
        ),
    ),
)
