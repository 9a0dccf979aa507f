"""Short kernels beside one that streams stores: to host or device, in the same memory-sync domain or not."""

from __future__ import annotations

from typing import Any

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS

MUST_NOT = ("launch.gap", "alloc.sync", "copy.pageable", "copy.exposed", "uvm.fault_gpu")
SMALL_BLOCKS = 248
WRITER_BLOCKS = 8
TARGET_BYTES = 1 << 20
ROUNDS_BOUND = 20_000


class _Writer:
    """The kernel that streams stores on a stream of its own, until it is told to stop."""

    def __init__(self, machine: Machine, params: Params) -> None:
        import torch

        self._machine = machine
        size = machine.size(TARGET_BYTES)
        self._host = machine.memory.pin(size)
        self._device = machine.memory.allocate(size)
        self._staged = bool(params["staged"])
        self._stop = torch.zeros(1, dtype=torch.int32, device=machine.device)
        alive = torch.zeros(1, dtype=torch.int64, device=machine.device)
        self._stream = machine.stream()
        target = self._host if params["to_host"] else self._device
        self._write = machine.kernel("store_stream").bind(
            WRITER_BLOCKS,
            THREADS,
            (target, size // 16, ROUNDS_BOUND, self._stop, alive),
            stream=self._stream,
            attributes=("remote memory-sync domain",) if params["remote"] else (),
        )
        self._ready, self._armed, self._over = machine.event(), machine.event(), machine.event()

    def start(self, main: Any) -> None:
        """Begin behind what `main` holds now; `main` goes on once the stop flag is down."""
        self._ready.record(main)
        with self._machine.use(self._stream):
            self._stream.wait_event(self._ready)
            self._stop.zero_()
            self._armed.record(self._stream)
            self._write()
            self._over.record(self._stream)
            if self._staged:
                self._host.tensor().copy_(self._device.tensor(), non_blocking=True)
        main.wait_event(self._armed)

    def finish(self, main: Any) -> None:
        """Raise the flag from `main`, the current stream, and wait there for the end."""
        self._stop.fill_(1)
        main.wait_event(self._over)

    def close(self) -> None:
        self._machine.synchronize()
        self._machine.memory.unpin(self._host)
        self._machine.memory.free(self._device)


def _build(machine: Machine, params: Params) -> Workload:
    data = machine.random(SMALL_BLOCKS * THREADS)
    small = machine.kernel("write_and_fence").bind(SMALL_BLOCKS, THREADS, (data, params["fence"]))
    writer, main = _Writer(machine, params), machine.stream()

    def burst() -> None:
        for _ in range(params["kernels"]):
            small()

    replay = machine.graph(burst)
    machine.synchronize()

    def step(_: int) -> None:
        with machine.use(main):
            replay()
            if params["writer"]:
                writer.start(main)
            replay()
            if params["writer"]:
                writer.finish(main)

    return Workload(step, lambda: data, close=writer.close)


def _params(*, to_host: int, remote: int, writer: int = 1, fence: int = 0, staged: int = 0) -> Params:
    return {"to_host": to_host, "remote": remote, "writer": writer, "fence": fence, "staged": staged, "kernels": 12}


FAMILY = Family(
    name="fence",
    title="Memory-fence interference",
    topic=5,
    collect="graph",
    needs=("memory-sync domains",),
    variants=(
        Variant(
            "host_same",
            "bad",
            _build,
            _params(to_host=1, remote=0),
            ("fence.interference",),
            ("comm.interference", *MUST_NOT),
            ("launch.drain", "dep.stream_wait"),
            "staged",
        ),
        Variant(
            "host_same_system",
            "bad",
            _build,
            _params(to_host=1, remote=0, fence=2),
            ("fence.interference",),
            ("comm.interference", *MUST_NOT),
            ("launch.drain", "dep.stream_wait"),
            "host_remote_system",
            gain_note="predicted is all of the interference; the remote domain takes away a fifth on this GPU",
        ),
        Variant(
            "host_remote",
            "fixed",
            _build,
            _params(to_host=1, remote=1),
            (),
            MUST_NOT,
            ("fence.interference", "launch.drain", "dep.stream_wait"),
        ),
        Variant(
            "host_remote_system",
            "fixed",
            _build,
            _params(to_host=1, remote=1, fence=2),
            (),
            MUST_NOT,
            ("fence.interference", "launch.drain", "dep.stream_wait"),
        ),
        Variant(
            "staged",
            "fixed",
            _build,
            _params(to_host=0, remote=0, staged=1),
            (),
            but(
                ("fence.interference", "launch.gap", "alloc.sync", "copy.pageable"),
                "launch.gap",
                "launch.drain",
                "dep.stream_wait",
                "copy.exposed",
            ),
            ("launch.gap", "launch.drain", "dep.stream_wait", "copy.exposed"),
        ),
        Variant(
            "device_same",
            "decoy",
            _build,
            _params(to_host=0, remote=0),
            (),
            but(("fence.interference", *MUST_NOT), "launch.gap", "launch.drain", "dep.stream_wait"),
            ("launch.gap", "launch.drain", "dep.stream_wait"),
        ),
        Variant(
            "no_writer",
            "decoy",
            _build,
            _params(to_host=0, remote=0, writer=0),
            (),
            but(("fence.interference", "comm.interference", *MUST_NOT), "launch.gap", "launch.drain"),
            ("launch.gap", "launch.drain"),
        ),
    ),
)
