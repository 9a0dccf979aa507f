"""Where ranks are examined: in this process, in local processes bounded by memory, or on a Dask cluster."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stallscope.errors import ToolMissingError, UsageError
from stallscope.ingest.identify import GZIP
from stallscope.ranks.task import Examine, Outcome, RankFailure, report_rank

if TYPE_CHECKING:
    from distributed import Client

BASE_BYTES = 400 << 20
"""A worker with its libraries and an empty trace."""
PER_TEXT_BYTE = 0.6
"""Tables and one analysis for each byte of unpacked trace (measured: 0.35 for Kineto JSON, 0.5 for SQLite exports)."""
PACKED = 12
"""Profiler JSON shrinks to about a twelfth under gzip."""
WORTH_PROCESSES_BYTES = 400 << 20
"""Below this much unpacked trace, starting workers takes longer than the work."""
MEMORY_SHARE = 0.8
CONNECT_S = 10

_MALLOC = {"MALLOC_TRIM_THRESHOLD_": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(32 << 20)}
"""Dask makes its workers give every freed 64 KiB back to the system, and glibc then maps every large array anew: four
times the page faults and a third more time a rank. What a worker has once used for a rank it keeps for the next one."""

Numbered = tuple[int, Outcome]
"""Position of the path, and what became of it."""


def examine_all(
    examine: Examine, paths: Sequence[Path], scheduler: str | None = None, workers: int | None = None
) -> Iterator[Numbered]:
    """Outcomes in the order in which they finish.

    With `scheduler`, one task a rank on that cluster (its workers must see the same paths). Else local processes, as
    many as cores and memory allow (`workers` overrides, 1 = this process). Raises `UsageError` when none answers and
    `ToolMissingError` when one is asked for without Dask.
    """
    if scheduler is None:
        count = local_workers(paths) if workers is None else workers
        if count <= 1 or len(paths) == 1 or not _has_dask():
            yield from ((position, report_rank(examine, path)) for position, path in enumerate(paths))
            return
        with local_client(count) as client:
            yield from _submitted(client, examine, paths)
        return
    if not _has_dask():
        raise ToolMissingError("--scheduler needs Dask", next_step="pip install 'stallscope[cluster]'")
    with _connected(scheduler) as client:
        yield from _submitted(client, examine, [path.absolute() for path in paths])


def local_workers(paths: Sequence[Path]) -> int:
    """How many local processes pay off and fit into memory; without Dask there is only this one."""
    sizes = [unpacked_bytes(path) for path in paths]
    if sum(sizes) < WORTH_PROCESSES_BYTES or not _has_dask():
        return 1
    fitting = int(free_bytes() * MEMORY_SHARE // (BASE_BYTES + PER_TEXT_BYTE * max(sizes)))
    return max(min(_cores(), fitting, len(paths)), 1)


def unpacked_bytes(path: Path) -> int:
    """Size of a trace as text or tables; an estimate for gzip."""
    try:
        if path.is_dir():
            return PACKED * sum(p.stat().st_size for p in path.iterdir() if p.is_file())
        with path.open("rb") as file:
            packed = file.read(len(GZIP)) == GZIP
        return path.stat().st_size * (PACKED if packed else 1)
    except OSError:
        return 0


def free_bytes() -> int:
    """Memory that may be used: what is available, under the container's limit."""
    from distributed.system import MEMORY_LIMIT
    from psutil import virtual_memory  # type: ignore[import-untyped,unused-ignore]

    return int(min(MEMORY_LIMIT, virtual_memory().available))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _has_dask() -> bool:
    return importlib.util.find_spec("distributed") is not None


@contextmanager
def local_client(count: int) -> Iterator[Client]:
    """Workers as subprocesses: unlike spawned ones they do not run the user's script a second time."""
    from distributed import Client
    from distributed.deploy.subprocess import SubprocessCluster

    limit = int(free_bytes() * MEMORY_SHARE / count)
    with (
        _environment(_MALLOC),
        SubprocessCluster(
            host="127.0.0.1",
            n_workers=count,
            threads_per_worker=1,
            dashboard_address=":0",
            scheduler_kwargs={"dashboard": False},
            worker_kwargs={"memory_limit": limit, "dashboard": False},
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,  # type: ignore[no-untyped-call]
    ):
        yield client


@contextmanager
def _environment(defaults: dict[str, str]) -> Iterator[None]:
    """Environment variables for subprocesses, where the user has not set them."""
    added = [name for name in defaults if name not in os.environ]
    os.environ.update({name: defaults[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def _connected(scheduler: str) -> Iterator[Client]:
    from distributed import Client

    try:
        client = Client(scheduler, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise UsageError(
            f"no Dask scheduler answers at {scheduler}",
            next_step="start one with `dask scheduler`, or leave --scheduler out",
        ) from error
    with client:
        yield client


def _submitted(client: Client, examine: Examine, paths: Sequence[Path]) -> Iterator[Numbered]:
    from distributed import as_completed

    futures: dict[Any, int] = {
        client.submit(report_rank, examine, path, pure=False, retries=0): position
        for position, path in enumerate(paths)
    }
    for future in as_completed(list(futures), loop=client.loop):  # type: ignore[no-untyped-call]
        yield futures[future], _result(future)
        future.release()


def _result(future: Any) -> Outcome:
    """A worker that died (out of memory, mostly) loses its rank, not the run."""
    if future.status != "finished":
        error = future.exception()
        name = type(error).__name__
        if name == "KilledWorker":
            return RankFailure(
                "its worker died, most likely out of memory", "give the workers more memory, or fewer of them"
            )
        return RankFailure(f"{name}: {error}")
    outcome: Outcome = future.result()
    return outcome
