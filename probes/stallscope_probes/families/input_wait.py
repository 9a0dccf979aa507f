"""A slow data set: read on the training thread, from a starved queue, by workers, behind a busy device."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from stallscope_probes.contract import Build, Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import Load

MUST_NOT = ("launch.gap", "alloc.sync", "sync.device", "copy.pageable", "sync.scalar")
WORKERS = 12
BATCH = 4096

Source = Callable[[Machine, Params], tuple[Callable[[], Any], Callable[[], None]]]


class _Samples:
    """A data set whose items take a while; `torch.utils.data.DataLoader` accepts it as it is."""

    def __init__(self, machine: Machine, item_us: int) -> None:
        self._batch = machine.host(BATCH, pinned=True)
        self._seconds = item_us / 1e6

    def __len__(self) -> int:
        return 1 << 20

    def __getitem__(self, _index: int) -> Any:
        time.sleep(self._seconds)
        return self._batch


def _loader(machine: Machine, params: Params) -> tuple[Callable[[], Any], Callable[[], None]]:
    from torch.utils.data import DataLoader

    batches = iter(DataLoader(_Samples(machine, params["item_us"]), batch_size=None))
    return lambda: next(batches), lambda: None


def _workers(machine: Machine, params: Params) -> tuple[Callable[[], Any], Callable[[], None]]:
    samples = _Samples(machine, params["item_us"])
    pool = ThreadPoolExecutor(WORKERS)

    def batches() -> Iterator[Any]:
        pending = [pool.submit(samples.__getitem__, index) for index in range(2 * WORKERS)]
        while True:
            pending.append(pool.submit(samples.__getitem__, 0))
            yield pending.pop(0).result()

    iterator = batches()
    return lambda: next(iterator), lambda: pool.shutdown(cancel_futures=True)


def _queue(machine: Machine, params: Params) -> tuple[Callable[[], Any], Callable[[], None]]:
    samples = _Samples(machine, params["item_us"])
    ready: queue.Queue[Any] = queue.Queue(maxsize=2)
    over = threading.Event()

    def produce() -> None:
        while not over.is_set():
            item = samples[0]
            with suppress(queue.Full):
                ready.put(item, timeout=0.1)

    producer = threading.Thread(target=produce, daemon=True)
    producer.start()

    def stop() -> None:
        over.set()
        producer.join()

    return ready.get, stop


def _training_on(source: Source) -> Build:
    def build(machine: Machine, params: Params) -> Workload:
        fetch, stop = source(machine, params)
        batch = machine.random(BATCH)
        load = Load(machine, params["load_us"] / 4)

        def step(_: int) -> None:
            with machine.nvtx("data"):
                item = fetch()
            with machine.nvtx("compute"):
                batch.copy_(item, non_blocking=True)
                for _ in range(4):
                    load.launch()

        return Workload(step, lambda: load.data, close=stop)

    return build


FAMILY = Family(
    name="input_wait",
    title="Waiting for input",
    topic=4,
    block_repeats=20,
    variants=(
        Variant(
            "loader",
            "bad",
            _training_on(_loader),
            {"item_us": 3000, "load_us": 600},
            ("input.wait",),
            but(("host.busy", *MUST_NOT), "host.busy", "launch.gap"),
            fix="workers",
            may=("host.busy", "launch.gap"),
            gain_note="timed blocks start with an empty queue, the captured window does not",
        ),
        Variant(
            "starved_queue",
            "bad",
            _training_on(_queue),
            {"item_us": 2000, "load_us": 600},
            ("input.wait",),
            but(("host.busy", *MUST_NOT), "host.busy", "launch.gap"),
            fix="workers",
            may=("host.busy", "launch.gap"),
        ),
        Variant(
            "workers",
            "fixed",
            _training_on(_workers),
            {"item_us": 3000, "load_us": 600},
            (),
            ("input.wait", "host.busy", *MUST_NOT),
        ),
        Variant(
            "hidden",
            "decoy",
            _training_on(_loader),
            {"item_us": 1000, "load_us": 3000},
            (),
            ("input.wait", "host.busy", *MUST_NOT),
        ),
    ),
)
