"""Collectives beside compute, one process a device: `python -m stallscope_probes.ranks --world N VARIANT…`.

Rank r uses GPU r with NCCL, or the CPU with gloo. Each rank writes one JSON line; under nsys, give every rank a report
of its own (`nsys profile -o rank%q{RANK} …`) or profile this program as a whole.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stallscope_probes.device.machine import UnavailableError
from stallscope_probes.load import python_work

WARM_UP = 10
EXIT_USAGE = 2
EXIT_UNAVAILABLE = 4
TIMEOUT_S = 300
PACKAGES = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class RankVariant:
    """One way to run collectives. `late` is the rank that is held up, by its `cause`; -1: none is."""

    name: str
    role: str
    expect: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    overlapped: bool = False
    late: int = -1
    cause: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    message_floats: int = 1 << 22


VARIANTS = (
    RankVariant("exposed", "bad", ("comm.exposed",), ("comm.peer_wait",)),
    RankVariant("overlapped", "fixed", (), ("comm.exposed", "comm.peer_wait"), overlapped=True),
    RankVariant("late_sleep", "bad", ("comm.peer_wait",), (), late=1, cause="sleep"),
    RankVariant("late_python", "bad", ("comm.peer_wait",), (), late=1, cause="python"),
    RankVariant("late_compute", "bad", ("comm.peer_wait",), (), late=1, cause="compute"),
    RankVariant("same_domain", "bad", (), (), overlapped=True, environment=(("NCCL_MEM_SYNC_DOMAIN", "0"),)),
    RankVariant("remote_domain", "fixed", (), (), overlapped=True, environment=(("NCCL_MEM_SYNC_DOMAIN", "1"),)),
    RankVariant(
        "one_block", "decoy", (), ("comm.interference",), overlapped=True, environment=(("NCCL_MAX_CTAS", "1"),)
    ),
    RankVariant("many_blocks", "bad", (), (), overlapped=True, environment=(("NCCL_MAX_CTAS", "16"),)),
    RankVariant("one_queue", "bad", (), (), overlapped=True, environment=(("CUDA_DEVICE_MAX_CONNECTIONS", "1"),)),
    RankVariant("no_peer_copies", "bad", (), (), environment=(("NCCL_P2P_DISABLE", "1"),)),
    RankVariant("small_messages", "bad", (), (), message_floats=1 << 12),
)


def variant_named(name: str) -> RankVariant:
    """Raises `KeyError`."""
    return next((variant for variant in VARIANTS if variant.name == name), None) or _unknown(name)


def _unknown(name: str) -> RankVariant:
    raise KeyError(f"no variant {name!r}; there are: {', '.join(variant.name for variant in VARIANTS)}")


def require_devices(backend: str, world: int) -> None:
    """Raise `UnavailableError` unless every rank can have a device of its own."""
    if world < 2:
        raise UnavailableError("a collective needs at least 2 ranks")
    if backend == "nccl":
        import torch

        count = torch.cuda.device_count()
        if count < world:
            raise UnavailableError(f"{world} ranks need {world} GPUs; {count} visible")


def launch(variant: RankVariant, options: argparse.Namespace) -> int:
    """Start one process a rank and wait for all of them; the first failure's exit code."""
    port = _free_port()
    workers = []
    for rank in range(options.world):
        environment = {
            **os.environ,
            **dict(variant.environment),
            "RANK": str(rank),
            "WORLD_SIZE": str(options.world),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "PYTHONPATH": str(PACKAGES),
        }
        command = [sys.executable, "-m", "stallscope_probes.ranks", variant.name, "--worker"]
        command += ["--backend", options.backend, "--repeats", str(options.repeats)]
        command += ["--out", str(options.out)] if options.out else []
        workers.append(subprocess.Popen(command, env=environment))  # noqa: S603
    try:
        codes = [worker.wait(timeout=TIMEOUT_S) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    return next((code for code in codes if code), 0)


def _free_port() -> int:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class _Rank:
    """One process of the group: compute and an all-reduce a step."""

    def __init__(self, variant: RankVariant, backend: str) -> None:
        import torch
        import torch.distributed as dist

        self.variant = variant
        self.rank = int(os.environ["RANK"])
        self.cuda = backend == "nccl"
        if self.cuda:
            torch.cuda.set_device(self.rank)
        dist.init_process_group(backend)
        device = torch.device("cuda", self.rank) if self.cuda else torch.device("cpu")
        side = 4096 if self.cuda else 64
        self.left = torch.ones(side, side, device=device, dtype=torch.bfloat16 if self.cuda else torch.float32)
        self.message = torch.ones(variant.message_floats if self.cuda else 1024, device=device)
        self.world = dist.get_world_size()

    def step(self) -> None:
        """One repeat; the message is divided so that its values stay 1."""
        import torch.distributed as dist

        self._hold_up()
        if self.variant.overlapped:
            work = dist.all_reduce(self.message, async_op=True)
            self._compute(2)
            work.wait()
        else:
            self._compute(2)
            dist.all_reduce(self.message)
        self.message.div_(self.world)

    def _hold_up(self) -> None:
        if self.rank != self.variant.late:
            return
        if self.variant.cause == "sleep":
            time.sleep(0.002)
        elif self.variant.cause == "python":
            python_work(2000)
        else:
            self._compute(6)

    def _compute(self, products: int) -> None:
        for _ in range(products):
            self.left @ self.left

    def synchronize(self) -> None:
        import torch

        if self.cuda:
            torch.cuda.synchronize()


def run_rank(variant: RankVariant, backend: str, repeats: int) -> dict[str, Any]:
    """Run this process's part; returns its record."""
    import torch
    import torch.distributed as dist

    part = _Rank(variant, backend)
    for _ in range(WARM_UP):
        part.step()
    part.synchronize()
    started = time.perf_counter_ns()
    for _ in range(repeats):
        if part.cuda:
            torch.cuda.nvtx.range_push(f"stallscope:ranks/{variant.name}/rank={part.rank}")
        part.step()
        if part.cuda:
            torch.cuda.nvtx.range_pop()
    part.synchronize()
    elapsed_ns = time.perf_counter_ns() - started
    record = {
        **asdict(variant),
        "rank": part.rank,
        "world": part.world,
        "repeats": repeats,
        "elapsed_ns": elapsed_ns,
        "sum_is_right": bool(torch.allclose(part.message, torch.ones_like(part.message))),
    }
    dist.destroy_process_group()
    return record


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        chosen = [variant_named(name) for name in options.names or [variant.name for variant in VARIANTS]]
        if not options.worker:
            require_devices(options.backend, options.world)
            return max(launch(variant, options) for variant in chosen)
    except UnavailableError as reason:
        sys.stderr.write(f"stallscope probe: skipped: {reason}\n")
        return EXIT_UNAVAILABLE
    except KeyError as error:
        sys.stderr.write(f"stallscope probe: {error.args[0]}\n")
        return EXIT_USAGE
    line = json.dumps(run_rank(chosen[0], options.backend, options.repeats), sort_keys=True) + "\n"
    if options.out:
        with options.out.open("a", encoding="utf-8") as out:
            out.write(line)
    else:
        sys.stdout.write(line)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stallscope_probes.ranks", description=__doc__)
    parser.add_argument("names", nargs="*", help="variants; none means all")
    parser.add_argument("--world", type=int, default=2, help="number of ranks")
    parser.add_argument("--backend", choices=("nccl", "gloo"), default="nccl")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=Path, help="append JSON lines to this file")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser


if __name__ == "__main__":
    sys.exit(main())
