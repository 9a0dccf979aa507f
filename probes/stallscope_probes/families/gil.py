"""Another Python thread: one that computes and holds the interpreter lock, one that gives it up, and none."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable

from stallscope_probes.contract import Build, Family, Params, Variant, Workload
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load, python_work

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "input.wait")
PAYLOAD = bytes(1 << 22)


def _python() -> None:
    python_work(1000)


def _checksum() -> None:
    zlib.crc32(PAYLOAD)


def _beside(work: Callable[[], None] | None) -> Build:
    def build(machine: Machine, params: Params) -> Workload:
        load = Load(machine, 300)
        over, submitting = threading.Event(), threading.Event()

        def spin() -> None:
            while not over.is_set():
                submitting.wait()
                if work is not None:
                    work()
                else:
                    return

        other = threading.Thread(target=spin, daemon=True)
        other.start()

        def step(_: int) -> None:
            submitting.set()
            for _ in range(params["kernels"]):
                load.launch()
                machine.event().record()
            submitting.clear()

        def close() -> None:
            over.set()
            submitting.set()
            other.join()

        return Workload(step, lambda: load.data, close=close)

    return build


FAMILY = Family(
    name="gil",
    title="Another thread holds the interpreter lock",
    topic=4,
    collect="gil",
    variants=(
        Variant(
            "computing_thread",
            "bad",
            _beside(_python),
            {"kernels": 3},
            ("host.gil",),
            MUST_NOT,
            ("host.busy",),
            "no_thread",
        ),
        Variant("no_thread", "fixed", _beside(None), {"kernels": 3}, (), ("host.gil", "host.busy", *MUST_NOT)),
        Variant("releasing_thread", "decoy", _beside(_checksum), {"kernels": 3}, (), ("host.gil", *MUST_NOT)),
    ),
)
