"""Waiting for the device, a stream or an event after every kernel, against once behind long work."""

from __future__ import annotations

from collections.abc import Callable

from stallscope_probes.contract import Build, Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "alloc.sync", "sync.scalar", "input.wait", "copy.pageable")
SYNCS = ("sync.device", "sync.stream", "sync.event")


def _device(machine: Machine) -> Callable[[], None]:
    return machine.synchronize


def _stream(machine: Machine) -> Callable[[], None]:
    wait: Callable[[], None] = machine.legacy_stream().synchronize
    return wait


def _event(machine: Machine) -> Callable[[], None]:
    event = machine.event()

    def wait() -> None:
        event.record()
        event.synchronize()

    return wait


def _with(waiter: Callable[[Machine], Callable[[], None]]) -> Build:
    def build(machine: Machine, params: Params) -> Workload:
        load = Load(machine, params["kernel_us"])
        wait = waiter(machine)

        def step(_: int) -> None:
            for index in range(params["kernels"]):
                load.launch()
                if params["every"] and (index + 1) % params["every"] == 0:
                    wait()

        return Workload(step, lambda: load.data)

    return build


def _bad(name: str, waiter: Callable[[Machine], Callable[[], None]]) -> Variant:
    others = tuple(wait for wait in SYNCS if wait != f"sync.{name}")
    params = {"kernels": 5, "kernel_us": 100, "every": 1}
    return Variant(name, "bad", _with(waiter), params, (f"sync.{name}",), (*others, *MUST_NOT), fix="queued")


FAMILY = Family(
    name="sync_calls",
    title="Host synchronization after every kernel",
    topic=4,
    variants=(
        _bad("device", _device),
        _bad("stream", _stream),
        _bad("event", _event),
        Variant(
            "queued",
            "fixed",
            _with(_device),
            {"kernels": 5, "kernel_us": 100, "every": 0},
            (),
            (*SYNCS, *MUST_NOT),
        ),
        Variant(
            "behind_long_work",
            "decoy",
            _with(_device),
            {"kernels": 4, "kernel_us": 4000, "every": 4},
            (),
            but((*SYNCS, *MUST_NOT), "sync.device"),
            may=("sync.device",),
        ),
    ),
)
