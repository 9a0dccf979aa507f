"""Compares every given trace with `nsys stats` and prints how many rows were compared and what differed.

Without arguments: every bundled capture and, where ../shared is there, every report and export that nsys can read.
The tables of docs/differential.md come from here.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "differential")]


def main() -> int:
    """Print the counts; 1 if any difference is unexplained."""
    from nsys_compare import compare

    from stallscope.errors import StallscopeError
    from stallscope.ingest.nsys_export import find_nsys

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("traces", nargs="*", type=Path)
    nsys, began = find_nsys(), time.monotonic()
    compared, known, unanswered, unread = Counter[str](), Counter[str](), Counter[str](), list[str]()
    traces = unexplained = 0
    for path in parser.parse_args().traces or _every_trace():
        with tempfile.TemporaryDirectory() as folder:
            try:
                export = _export(nsys.program, path, Path(folder))
                verdict = compare(nsys.program, export, Path(folder) / "stats")
            except (StallscopeError, subprocess.CalledProcessError) as error:
                unread.append(f"{path.name}: {type(error).__name__}")
                continue
        traces += 1
        compared += verdict.compared
        known.update(dict.fromkeys(verdict.known, 1))
        unanswered.update(f"{report}: {reason}" for report, reason in verdict.unanswered.items())
        unexplained += len(verdict.unexplained)
        for complaint in verdict.unexplained:
            print(f"{path.name}: {complaint}")
    print(f"nsys {nsys.label}, {traces} traces, {time.monotonic() - began:.0f} s, unread: {unread}")
    for title, counts in (("compared", compared), ("traces with a known difference", known), ("no answer", unanswered)):
        print(title)
        for what, count in counts.most_common():
            print(f"  {count:>7,}  {what}")
    print(f"{sum(compared.values()):,} rows compared, {unexplained} unexplained")
    return 1 if unexplained else 0


def _every_trace() -> Iterable[Path]:
    yield from sorted((ROOT / "sample_traces").glob("*/*.sqlite"))
    shared = ROOT.parent / "shared"
    yield from sorted((shared / "traces" / "h200").glob("*.nsys-rep"))
    for kind in ("sqlite", "nsys-rep", "qdrep"):
        yield from sorted((shared / "corpus").glob(f"n*/*.{kind}"))


def _export(nsys: str, path: Path, folder: Path) -> Path:
    """The trace as an SQLite export: what `nsys stats` itself reads."""
    if path.suffix == ".sqlite":
        return path
    target = folder / f"{path.stem}.sqlite"
    command = [nsys, "export", "--type", "sqlite", "--output", str(target), str(path)]
    subprocess.run(command, check=True, capture_output=True)
    return target


if __name__ == "__main__":
    sys.exit(main())
