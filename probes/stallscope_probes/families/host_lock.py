"""The submitting thread sleeps in a lock, works in Python instead, or finds the lock free."""

from __future__ import annotations

import threading
import time

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load, python_work

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "input.wait", "host.gil")


def _contended(machine: Machine, params: Params) -> Workload:
    load = Load(machine, 100)
    lock = threading.Lock()
    wanted, over = threading.Semaphore(0), threading.Event()
    taken = threading.Semaphore(0)

    def hold() -> None:
        while True:
            wanted.acquire()
            if over.is_set():
                return
            with lock:
                taken.release()
                time.sleep(params["held_us"] / 1e6)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()

    def step(_: int) -> None:
        wanted.release()
        taken.acquire()
        with lock:
            for _ in range(params["kernels"]):
                load.launch()

    def close() -> None:
        over.set()
        wanted.release()
        holder.join()

    return Workload(step, lambda: load.data, close=close)


def _alone(machine: Machine, params: Params) -> Workload:
    load = Load(machine, 100)
    lock = threading.Lock()

    def step(_: int) -> None:
        if params["python_us"]:
            python_work(params["python_us"])
        with lock:
            for _ in range(params["kernels"]):
                load.launch()

    return Workload(step, lambda: load.data)


FAMILY = Family(
    name="host_lock",
    title="The submitting thread is blocked by a lock",
    topic=4,
    collect="osrt",
    variants=(
        Variant(
            "contended",
            "bad",
            _contended,
            {"held_us": 2000, "kernels": 4},
            ("host.blocked",),
            but(("host.busy", *MUST_NOT), "host.busy"),
            fix="free",
            may=("host.busy",),
        ),
        Variant("free", "fixed", _alone, {"python_us": 0, "kernels": 4}, (), ("host.blocked", "host.busy", *MUST_NOT)),
        Variant(
            "computing",
            "decoy",
            _alone,
            {"python_us": 2000, "kernels": 4},
            ("host.busy",),
            ("host.blocked", *MUST_NOT),
        ),
    ),
)
