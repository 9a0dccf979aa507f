"""Time and memory of a whole analysis, as ratios to a full SQL scan and to `nsys stats`, on one file in one run.

    python benchmarks/analysis.py [KERNELS] [--trace FILE] [--large [FILE]] [--rounds N] [--no-nsys] [--touch GB]

Every command is a process of its own and is run in turn, N times; medians are printed. Ratios hold when the machine's
speed drifts, seconds do not; where other programs share the cores, compare processor seconds. `nsys stats` is left out
where no nsys is found. `--large` adds a second trace (ten times as many kernels, or the given file) and prints how the
time grows with the events.

The host of a virtual machine may take free memory back and find pages anew when they are first touched, which can cost
more than the analysis. `--touch` has another process touch so much memory before each command, and prints how long that
took: the commands then meet memory that is there, as on a machine of its own.
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

SCAN = """
import sqlite3, sys
db = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME"):
    print(*db.execute(f"SELECT count(*), sum(start) FROM {table}").fetchone())
"""
TOUCH = "import sys, numpy; numpy.ones(int(float(sys.argv[1]) * 1e9) // 8)"
ANALYSIS = "stallscope analyze"
STATS = "cuda_gpu_kern_sum"


@dataclass
class Command:
    """One competitor: its argument list and what was measured.

    `proof` is part of what it prints when it did its work.
    """

    label: str
    argv: list[str]
    proof: bytes = b""
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    peak_mb: float = 0.0

    def run(self) -> None:
        """Run once to the end and book wall time, processor time and peak memory of the process."""
        with tempfile.TemporaryFile() as output:
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            began = time.perf_counter()
            child = subprocess.Popen(self.argv, stdout=output, stderr=subprocess.DEVNULL, env=environment)
            _, status, usage = os.wait4(child.pid, 0)
            ended = time.perf_counter()
            output.seek(0)
            if status or self.proof not in output.read():
                raise SystemExit(f"{self.label} failed: {' '.join(self.argv)}")
        self.wall_s.append(ended - began)
        self.cpu_s.append(usage.ru_utime + usage.ru_stime)
        self.peak_mb = max(self.peak_mb, usage.ru_maxrss / 1024)

    @property
    def wall(self) -> float:
        """Median wall time, seconds."""
        return statistics.median(self.wall_s)

    @property
    def cpu(self) -> float:
        """Median processor time, seconds."""
        return statistics.median(self.cpu_s)


@dataclass(frozen=True)
class Measured:
    """What the competitors took on one trace of so many kernels and calls."""

    trace: Path
    kernels: int
    calls: int
    commands: tuple[Command, ...]

    @property
    def analysis(self) -> Command:
        """The command under test."""
        return next(command for command in self.commands if command.label == ANALYSIS)

    def print(self) -> None:
        """The table, in relation to the scan, which is the first command."""
        rounds = len(self.analysis.wall_s)
        size = self.trace.stat().st_size / 1e6
        print(f"{size:.0f} MB, {self.kernels:,} kernels, {self.calls:,} calls, median of {rounds}")
        print(f"{'':30}{'wall s':>9}{'× scan':>8}{'cpu s':>9}{'× scan':>8}{'peak MB':>9}")
        scan = self.commands[0]
        for c in self.commands:
            wall, cpu = f"{c.wall:9.2f}{c.wall / scan.wall:8.1f}", f"{c.cpu:9.2f}{c.cpu / scan.cpu:8.1f}"
            print(f"{c.label:30}{wall}{cpu}{c.peak_mb:9.0f}")


def competitors(trace: Path, *, nsys_too: bool) -> tuple[Command, ...]:
    """The scan first: the others are put in relation to it."""
    stallscope = [sys.executable, "-m", "stallscope", "analyze", str(trace), "--no-cache", "--format", "json"]
    found = [Command("full SQL scan", [sys.executable, "-c", SCAN, str(trace)]), Command(ANALYSIS, stallscope)]
    nsys = os.environ.get("STALLSCOPE_NSYS") or shutil.which("nsys")
    if nsys and nsys_too:
        report = [nsys, "stats", "--report", STATS, "--format", "csv", str(trace)]
        # Releases before 2023 call the report otherwise: they say so and exit with 0.
        found.append(Command(f"nsys stats {STATS}", report, proof=b"Total Time (ns)"))
    return tuple(found)


def touch(gigabytes: float) -> float:
    """Seconds that a process takes to touch so much memory, which it leaves free."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", TOUCH, str(gigabytes)], check=True)
    return time.perf_counter() - began


def measure(trace: Path, rounds: int, *, nsys_too: bool, touched_gb: float) -> Measured:
    """Run every competitor on the trace, each after memory was touched if that is asked for."""
    commands = competitors(trace, nsys_too=nsys_too)
    counted = subprocess.run(commands[0].argv, capture_output=True, text=True, check=True).stdout.splitlines()
    for _ in range(rounds):
        for command in commands:
            if touched_gb:
                print(f"{touched_gb:g} GB touched in {touch(touched_gb):.1f} s")
            command.run()
    kernels, calls = (int(line.split()[0]) for line in counted)
    return Measured(trace, kernels, calls, commands)


def growth(small: Measured, large: Measured) -> str:
    """How the time of the analysis grows with the events."""
    events = (large.kernels + large.calls) / (small.kernels + small.calls)
    wall, cpu = large.analysis.wall / small.analysis.wall, large.analysis.cpu / small.analysis.cpu
    return f"{events:.1f} times the events take {wall:.1f} times the wall time, {cpu:.1f} times the processor time"


def main() -> None:
    """Make the traces, run the competitors in turn, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernels", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--large", type=Path, nargs="?", const=Path())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-nsys", action="store_true")
    parser.add_argument("--touch", type=float, default=0, metavar="GB")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        traces = [chosen.trace] if chosen.large is None else [chosen.trace, chosen.large]
        measured = []
        for times, given in zip((1, 10), traces, strict=False):
            trace = given
            if trace in (None, Path()):
                trace = Path(folder) / f"synthetic{times}.sqlite"
                make(trace, chosen.kernels * times)
            measured.append(measure(trace, chosen.rounds, nsys_too=not chosen.no_nsys, touched_gb=chosen.touch))
            measured[-1].print()
        if len(measured) > 1:
            print(growth(*measured))


if __name__ == "__main__":
    main()
