"""Many ranks: time on one process against several, memory of each, and the cost of a rank.

    python benchmarks/ranks_scaling.py [RANKS] [KERNELS] [WORKERS] [FOLDER]

Simulates a data-parallel run with a straggler (64 ranks of 100,000 kernels by default), writes it as PyTorch traces,
and analyzes it with one Dask worker, with several, and without Dask. The documents must be equal. The load is printed:
on a busy machine only the CPU time says something.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from stallscope.api import Examination, Options
from stallscope.ingest.open import OpenOptions
from stallscope.ranks import compare_ranks, rank_files
from stallscope.ranks.cluster import local_client
from stallscope.ranks.task import examine_file

HERE = Path(__file__).resolve().parent
SIMULATION = HERE.parent / "tests" / "ranks"
sys.path[:0] = [str(HERE), str(SIMULATION)]

KERNELS_A_STEP = 100
STRAGGLER = 1


def write(folder: Path, ranks: int, kernels: int) -> list[Path]:
    """Simulate and write the ranks."""
    from rank_files import write_rank
    from rank_simulation import Run, simulate

    steps = max(kernels // KERNELS_A_STEP, 5)
    run = Run(
        ranks=ranks, steps=steps, kernels=KERNELS_A_STEP - 1, late={STRAGGLER: 400_000}, drift_ppm=20, offset_ns=10**9
    )
    paths = []
    for trace in simulate(run):
        paths.append(folder / f"rank{trace.source.rank}.pt.trace.json.gz")
        write_rank(trace, paths[-1])
    return paths


def measured(path: Path, folder: str) -> Examination:
    """Examine one rank and leave this process's peak memory and the CPU time behind."""
    began = time.process_time()
    examined = examine_file(path, Options(opening=OpenOptions(use_cache=False)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    (Path(folder) / path.name).write_text(f"{peak} {time.process_time() - began}")
    return examined


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds, CPU seconds in the tasks, largest peak of a process in MiB, and the document."""

    wall: float
    cpu: float
    peak: int
    document: str


def timed(paths: list[Path], workers: int) -> Measured:
    """The whole analysis on a Dask cluster of that many local processes (0: in this process, without Dask)."""
    import ranks_scaling

    with tempfile.TemporaryDirectory() as folder:
        examine = partial(ranks_scaling.measured, folder=folder)
        with nullcontext() if not workers else local_client(workers) as client:
            if client is not None:
                client.wait_for_workers(workers)
                client.run(warm)
            began = time.perf_counter()
            scheduler = client.scheduler.address if client is not None else None
            analysis = compare_ranks(paths, examine, scheduler=scheduler, workers=1)
            taken = time.perf_counter() - began
        rows = [(int(mib), float(cpu)) for f in Path(folder).iterdir() for mib, cpu in [f.read_text().split()]]
    return Measured(taken, sum(cpu for _, cpu in rows), max(mib for mib, _ in rows), analysis.to_json())


def warm() -> None:
    """Import what a task needs, so that both clusters start equal."""
    import ranks_scaling  # noqa: F401


def main(ranks: int, kernels: int, workers: int, folder: str | None) -> None:
    """Print the comparison."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), str(SIMULATION), *inherited]))
    with tempfile.TemporaryDirectory(dir=folder) as place:
        # A process of its own: the simulation must not count as memory of the analysis.
        subprocess.run([sys.executable, __file__, "--write", place, str(ranks), str(kernels)], check=True)
        paths = rank_files([Path(place)])
        size = sum(path.stat().st_size for path in paths)
        print(f"{ranks} ranks of {kernels} kernels, {size / 1e6:.0f} MB packed", flush=True)
        results = {}
        for count in (1, workers, 0):
            results[count] = found = timed(paths, count)
            who = f"{count} worker(s)" if count else "this process"
            load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
            print(
                f"{who}: {found.wall:.1f} s, {found.cpu:.1f} s CPU, {found.wall / ranks * 1e3:.0f} ms a rank, "
                f"peak of one process {found.peak} MiB, load {load:.1f}",
                flush=True,
            )
    print(f"speed-up of {workers} workers over 1: {results[1].wall / results[workers].wall:.2f}")
    documents = {found.document for found in results.values()}
    named = all(f"in collectives for rank {STRAGGLER}," in document for document in documents)
    print(f"equal documents: {len(documents) == 1}; straggler named: {named}")


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["--write"]:
        write(Path(given[1]), int(given[2]), int(given[3]))
        raise SystemExit
    main(*(int(v) for v in (given + ["64", "100000", "2"][len(given) :])[:3]), given[3] if len(given) > 3 else None)
