"""Cost of comparing ranks as their number grows, and the cost of a rank-hour.

    python benchmarks/ranks_curve.py [MOST_RANKS]

Simulates 1, 2, 4 … 512 ranks with a straggler, examines each, and times what needs all of them together: matching,
clock alignment, stragglers, merging. The work on one rank does not depend on the others; it is timed by itself on a
trace of 100,000 kernels and extrapolated to an hour of a rank that launches 10,000 kernels a second.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "ranks"))

from rank_files import write_rank
from rank_simulation import Run, simulate

from stallscope.api import Options, examine_trace
from stallscope.ingest.open import OpenOptions
from stallscope.model.trace import Trace
from stallscope.ranks import compare_ranks
from stallscope.ranks.task import examine_file

STEPS = 100
KERNELS = 100_000
KERNELS_A_SECOND = 10_000


class Traces:
    """Examines simulated traces and remembers how long that took, so that it can be subtracted."""

    def __init__(self, traces: list[Trace]) -> None:
        self.by_path = {Path(trace.source.name): trace for trace in traces}
        self.seconds = 0.0

    def examine(self, path: Path) -> object:
        """Diagnose one rank."""
        began = time.process_time()
        examined = examine_trace(self.by_path[path])
        self.seconds += time.process_time() - began
        return examined


def together(ranks: int) -> tuple[float, bool]:
    """CPU seconds for what needs all ranks, and whether the straggler was named."""
    late = {ranks // 2: 300_000} if ranks > 1 else {}
    traces = Traces(simulate(Run(ranks=ranks, steps=STEPS, late=late, drift_ppm=20, offset_ns=10**9)))
    began = time.process_time()
    analysis = compare_ranks(list(traces.by_path), traces.examine, workers=1)  # type: ignore[arg-type]
    taken = time.process_time() - began - traces.seconds
    named = any(f"for rank {ranks // 2}," in f.title for f in analysis.findings if f.wait == "comm.peer_wait")
    return taken, named


def alone() -> float:
    """CPU seconds to open and diagnose one rank of KERNELS kernels."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rank0.json.gz"
        write_rank(simulate(Run(ranks=2, steps=KERNELS // 100, kernels=99))[0], path)
        examine = partial(examine_file, options=Options(opening=OpenOptions(use_cache=False)))
        examine(path)
        began = time.process_time()
        examine(path)
        return time.process_time() - began


def main(most: int) -> None:
    """Print the curve."""
    one = alone()
    print(f"one rank of {KERNELS} kernels: {one:.2f} s CPU")
    ranks = 1
    while ranks <= most:
        taken, named = together(ranks)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        what = f"{ranks:4d} ranks, {STEPS} collectives"
        print(f"{what}: {taken:.3f} s CPU together, straggler named: {named}, peak {peak} MiB")
        ranks *= 2
    hour = one * 3600 * KERNELS_A_SECOND / KERNELS
    print(f"a rank-hour of {KERNELS_A_SECOND} kernels a second, extrapolated: {hour / 60:.1f} CPU minutes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 512)
