"""Time and memory of a whole analysis, as ratios to a full SQL scan and to `nsys stats`, on one file in one run.

    python benchmarks/analysis.py [KERNELS] [--trace FILE]

Every command is a process of its own and is run in turn, ROUNDS times; medians are printed. Ratios hold when the
machine's speed drifts, seconds do not. `nsys stats` is left out where no nsys is found.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from synthetic_trace import make

ROUNDS = 3
SCAN = """
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"):
    print(db.execute(f"SELECT count(*), sum(start) FROM {table}").fetchone())
"""


@dataclass
class Command:
    """One competitor: its argument list and what was measured."""

    label: str
    argv: list[str]
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_mb: float = 0.0

    def run(self) -> None:
        """Run once to the end and book wall time, processor time and peak memory of the process."""
        began = time.perf_counter()
        child = subprocess.Popen(self.argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{self.label} failed: {' '.join(self.argv)}")
        self.wall_s.append(time.perf_counter() - began)
        self.cpu_s.append(usage.ru_utime + usage.ru_stime)
        self.peak_mb = max(self.peak_mb, usage.ru_maxrss / 1024)


def competitors(trace: Path) -> list[Command]:
    """The scan first: the others are put in relation to it."""
    stallscope = [sys.executable, "-m", "stallscope", "analyze", str(trace), "--no-cache", "--format", "json"]
    found = [
        Command("full SQL scan", [sys.executable, "-c", SCAN, str(trace)]),
        Command("stallscope analyze", stallscope),
    ]
    nsys = os.environ.get("STALLSCOPE_NSYS") or shutil.which("nsys")
    if nsys:
        report = [nsys, "stats", "--report", "cuda_gpu_kern_sum", "--format", "csv", str(trace)]
        found.append(Command("nsys stats, one report", report))
    return found


def main() -> None:
    """Make the trace, run the competitors in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--trace", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trace = chosen.trace or Path(folder) / "synthetic.sqlite"
        if chosen.trace is None:
            make(trace, chosen.kernels)
        commands = competitors(trace)
        for _ in range(ROUNDS):
            for command in commands:
                command.run()
        print(f"{trace.name}: {trace.stat().st_size / 1e6:.0f} MB, {chosen.kernels:,} kernels, median of {ROUNDS}")
        print(f"{'':24}{'wall s':>9}{'cpu s':>9}{'× scan':>9}{'peak MB':>9}")
        scan = statistics.median(commands[0].wall_s)
        for c in commands:
            wall, cpu = statistics.median(c.wall_s), statistics.median(c.cpu_s)
            print(f"{c.label:24}{wall:9.2f}{cpu:9.2f}{wall / scan:9.1f}{c.peak_mb:9.0f}")


if __name__ == "__main__":
    main()
