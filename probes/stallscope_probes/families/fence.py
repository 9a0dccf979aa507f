"""Short kernels beside one that streams stores: to host or device, in the same memory-sync domain or not."""

from __future__ import annotations

from stallscope_probes.contract import Family, Params, Variant, Workload, but
from stallscope_probes.device.machine import Machine
from stallscope_probes.load import THREADS

MUST_NOT = ("launch.gap", "alloc.sync", "copy.pageable", "copy.exposed", "uvm.fault_gpu")
SMALL_BLOCKS = 248
WRITER_BLOCKS = 8
TARGET_BYTES = 1 << 20
ROUNDS_BOUND = 20_000


def _build(machine: Machine, params: Params) -> Workload:
    import torch

    data = machine.random(SMALL_BLOCKS * THREADS)
    small = machine.kernel("write_and_fence").bind(SMALL_BLOCKS, THREADS, (data, params["fence"]))
    size = machine.size(TARGET_BYTES)
    host = machine.memory.pin(size)
    target = host if params["to_host"] else machine.memory.allocate(size)
    stop = torch.zeros(1, dtype=torch.int32, device=machine.device)
    alive = torch.zeros(1, dtype=torch.int64, device=machine.device)
    beside, main = machine.stream(), machine.stream()
    writes = bool(params["writer"])
    write = machine.kernel("store_stream").bind(
        WRITER_BLOCKS,
        THREADS,
        (target, size // 16, ROUNDS_BOUND, stop, alive),
        stream=beside,
        attributes=("remote memory-sync domain",) if params["remote"] else (),
    )

    def burst() -> None:
        for _ in range(params["kernels"]):
            small()

    replay = machine.graph(burst)
    ready, armed, over = machine.event(), machine.event(), machine.event()
    machine.synchronize()

    def start_writer() -> None:
        ready.record(main)
        with machine.use(beside):
            beside.wait_event(ready)
            stop.zero_()
            armed.record(beside)
            write()
            over.record(beside)
            if params["staged"]:
                host.tensor().copy_(target.tensor(), non_blocking=True)
        main.wait_event(armed)

    def step(_: int) -> None:
        with machine.use(main):
            replay()
            if writes:
                start_writer()
            replay()
            if writes:
                stop.fill_(1)
                main.wait_event(over)

    def close() -> None:
        machine.synchronize()
        machine.memory.unpin(host)
        if not params["to_host"]:
            machine.memory.free(target)

    return Workload(step, lambda: data, close=close)


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
