"""Many ranks: time on one process against several, memory of each, and the cost of a rank.

    python benchmarks/ranks_scaling.py [RANKS] [KERNELS] [WORKERS] [FOLDER]

Simulates a data-parallel run with a straggler (64 ranks of 100,000 kernels by default), writes it as PyTorch traces,
and analyzes it in one local process and in several, by the same Dask path. The documents must be equal.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from stallscope.api import Examination, Options
from stallscope.ranks import compare_ranks
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
    """Examine one rank and leave the peak memory of this process behind."""
    examined = examine_file(path, Options())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    (Path(folder) / f"peak-{os.getpid()}").write_text(str(peak))
    return examined


def timed(paths: list[Path], workers: int) -> tuple[float, list[int], str]:
    """Seconds, peak memory of every process in MiB, and the document."""
    import ranks_scaling

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        analysis = compare_ranks(paths, partial(ranks_scaling.measured, folder=folder), workers=workers)
        taken = time.perf_counter() - began
        peaks = sorted(int(p.read_text()) for p in Path(folder).glob("peak-*"))
    return taken, peaks, analysis.to_json()


def main(ranks: int, kernels: int, workers: int, folder: str | None) -> None:
    """Print the comparison."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), str(SIMULATION)])
    with tempfile.TemporaryDirectory(dir=folder) as place:
        paths = write(Path(place), ranks, kernels)
        size = sum(path.stat().st_size for path in paths)
        print(f"{ranks} ranks of {kernels} kernels, {size / 1e6:.0f} MB packed", flush=True)
        results = {count: timed(paths, count) for count in (1, workers)}
        for count, (taken, peaks, _) in results.items():
            each = " ".join(map(str, peaks))
            print(
                f"{count} process(es): {taken:.1f} s, {taken / ranks * 1e3:.0f} ms a rank, peak MiB {each}", flush=True
            )
    print(f"speed-up on {workers} workers: {results[1][0] / results[workers][0]:.2f}")
    one, several = results[1][2], results[workers][2]
    print(f"equal documents: {one == several}; straggler named: {f'in collectives for rank {STRAGGLER},' in one}")


if __name__ == "__main__":
    given = sys.argv[1:]
    main(*(int(v) for v in (given + ["64", "100000", "2"][len(given) :])[:3]), given[3] if len(given) > 3 else None)
