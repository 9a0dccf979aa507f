"""What an HTML report costs beyond the analysis, and how large it is, for traces of growing size.

    python benchmarks/html_report.py [KERNELS ...] [--trace FILE]

A synthetic export has about four events a kernel (kernels, API calls, copies, synchronizations, NVTX ranges). Times are
processor seconds of this process, which other work on the machine does not stretch.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from pathlib import Path

from synthetic_trace import make

from stallscope.api import examine_trace
from stallscope.ingest.open import OpenOptions, open_trace
from stallscope.reporters.html import MAX_BYTES, HtmlReporter
from stallscope.views.report_timeline import tiles_of

KERNELS = (100_000, 1_000_000, 2_400_000)
LIMIT_S = 10.0


def measure(trace: Path) -> bool:
    """Print one line; answers whether size and time stay within their limits."""
    opened = open_trace(trace, OpenOptions(use_cache=False))
    events = sum(len(table) for table in opened.tables.values())
    began = time.process_time()
    examination = examine_trace(opened)
    analyzed, wall = time.process_time(), time.perf_counter()
    tiles = tiles_of(examination.timeline, examination.charges, examination.analysis)
    out = io.StringIO()
    HtmlReporter(tiles=tiles).render(examination.analysis, out)
    extra_s, size = time.process_time() - analyzed, len(out.getvalue().encode())
    print(
        f"{events:>12,} events: analysis {analyzed - began:6.1f} s, HTML {extra_s:5.2f} s more "
        f"({time.perf_counter() - wall:.2f} s by the clock), {size / 1e6:.2f} MB, "
        f"{tiles.intervals:,} intervals exact{'' if tiles.exact else ' and the rest as shares'}",
        flush=True,
    )
    return size <= MAX_BYTES and extra_s <= LIMIT_S


def main() -> None:
    """Measure every size; exits 1 when a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernels", nargs="*", type=int, default=KERNELS)
    parser.add_argument("--trace", type=Path, help="measure this export instead of synthetic ones")
    asked = parser.parse_args()
    if asked.trace:
        raise SystemExit(0 if measure(asked.trace) else 1)
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        for kernels in asked.kernels:
            trace = Path(folder) / f"{kernels}.sqlite"
            make(trace, kernels)
            kept.append(measure(trace))
            trace.unlink()
    raise SystemExit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
