"""Analyzes well-formed exports of up to 10 MB in which one thing is extreme; prints time and memory of each.

Every case runs in a process of its own: `python benchmarks/fuzz_stress.py [CASE]`.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "ingest"), str(ROOT / "tests" / "trust"), str(ROOT / "tests")]
MOST_MB = 1000
MOST_S = 5.0


def run(case: str, answers: Any) -> None:
    """Write one case, read and analyze it, and tell what it took."""
    import stress_inputs
    from fuzz_oracle import trace_answer

    with tempfile.TemporaryDirectory() as folder:
        path = stress_inputs.write(Path(folder) / "t.sqlite", stress_inputs.CASES[case]())
        size = path.stat().st_size
        began, clock = time.process_time(), time.monotonic()
        answer = trace_answer(path, depth=2)
        spent, elapsed = time.process_time() - began, time.monotonic() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    answers.put((answer, size / 1e6, spent, elapsed, peak))


def main() -> int:
    """Print a line a case; 1 if one was too slow, too large or wrong."""
    import stress_inputs

    spawn, bad = multiprocessing.get_context("spawn"), 0
    for case in [case for case in stress_inputs.CASES if not sys.argv[1:] or case in sys.argv[1:]]:
        answers = spawn.Queue()
        worker = spawn.Process(target=run, args=(case, answers))
        worker.start()
        worker.join(120)
        if worker.is_alive():
            worker.kill()
        if answers.empty():
            bad += 1
            print(f"{case:45s} no answer")
            continue
        answer, size, spent, elapsed, peak = answers.get()
        is_bad = spent > MOST_S or peak > MOST_MB
        bad += is_bad
        mark = " TOO MUCH" if is_bad else ""
        print(
            f"{case:45s} {size:4.1f} MB {spent:5.1f} s cpu {elapsed:5.1f} s {peak:5.0f} MB  {answer}{mark}", flush=True
        )
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
