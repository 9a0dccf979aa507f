"""Feeds seeded inputs to a reader in a worker process and counts answers, crashes, hangs, time and memory.

A worker that dies or stalls costs the one input it was at; its number is printed and the campaign goes on behind it.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "ingest"), str(ROOT / "tests" / "trust"), str(ROOT / "tests")]

Target = Callable[[int, Path], str]
HANG_S = 5.0
_STALLED_S = 120.0
_REPORT_EVERY = 500


@dataclass
class Tally:
    """What a campaign has seen."""

    answers: Counter[str] = field(default_factory=Counter)
    wrong: dict[int, str] = field(default_factory=dict)
    slowest_s: float = 0.0
    slowest_input: int = -1
    peak_mb: float = 0.0

    def merge(self, line: dict[str, Any]) -> None:
        """Add one report of the worker."""
        self.answers.update(line["answers"])
        self.wrong.update({int(number): what for number, what in line["wrong"].items()})
        if line["slowest_s"] > self.slowest_s:
            self.slowest_s, self.slowest_input = line["slowest_s"], line["slowest_input"]
        self.peak_mb = max(self.peak_mb, line["peak_mb"])


def campaign(name: str, target: Callable[[], Target], *, inputs: int = 100_000) -> int:
    """Run inputs `--first` … `--first + --inputs`; prints the counts; 1 if any answer was wrong."""
    chosen = argparse.ArgumentParser(description=f"fuzz campaign: {name}")
    chosen.add_argument("--inputs", type=int, default=inputs)
    chosen.add_argument("--first", type=int, default=0)
    options = chosen.parse_args()
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # the inputs are small: threads only cost
    began, tally = time.monotonic(), Tally()
    _run(target, options.first, options.first + options.inputs, tally)
    _print(name, options.inputs, tally, time.monotonic() - began)
    return 1 if tally.wrong else 0


def _run(target: Callable[[], Target], first: int, after: int, tally: Tally) -> None:
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_memory_folder()) as folder:
        while first < after:
            at = spawn.Value("q", first)
            report = Path(folder) / f"report-{first}.jsonl"
            worker = spawn.Process(target=_work, args=(target, first, after, at, str(report)))
            worker.start()
            end = _watch(worker, at)
            for line in report.read_text("utf-8").splitlines() if report.exists() else []:
                tally.merge(json.loads(line))
            if end is None:
                return
            tally.wrong[at.value] = end
            first = at.value + 1


def _memory_folder() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - inputs are written once and read once


def _watch(worker: Any, at: Synchronized[int]) -> str | None:
    """None when the worker finished, else how it ended."""
    seen, since = at.value, time.monotonic()
    while worker.is_alive():
        worker.join(1.0)
        if at.value != seen:
            seen, since = at.value, time.monotonic()
        elif time.monotonic() - since > _STALLED_S:
            worker.kill()
            worker.join()
            return f"stalled for {_STALLED_S:.0f} s"
    return None if worker.exitcode == 0 else f"the process ended with {worker.exitcode}"


def _work(target: Callable[[], Target], first: int, after: int, at: Synchronized[int], report: str) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-input-", dir=_memory_folder()) as folder:
        os.chdir(folder)
        answer, tally = target(), Tally()
        gc.freeze()
        for number in range(first, after):
            at.value = number
            began = time.process_time()
            try:
                tally.answers[answer(number, Path(folder))] += 1
            except BaseException:  # noqa: BLE001 - the point of the exercise; polars' panics are no Exception
                tally.answers["WRONG"] += 1
                tally.wrong[number] = traceback.format_exc(limit=-4)
            spent = time.process_time() - began
            if spent > HANG_S:
                tally.wrong[number] = f"took {spent:.1f} s"
            if spent > tally.slowest_s:
                tally.slowest_s, tally.slowest_input = spent, number
            if number + 1 == after or (number + 1) % _REPORT_EVERY == 0 or tally.wrong:
                _append(report, tally)
                tally = Tally()


def _append(report: str, tally: Tally) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = {"answers": tally.answers, "wrong": tally.wrong, "slowest_s": tally.slowest_s, "peak_mb": peak}
    with Path(report).open("a", encoding="utf-8") as file:
        file.write(json.dumps({**line, "slowest_input": tally.slowest_input}) + "\n")


def _print(name: str, inputs: int, tally: Tally, seconds: float) -> None:
    print(f"{name}: {inputs} inputs in {seconds:.0f} s, {len(tally.wrong)} wrong answers")
    print(f"slowest input {tally.slowest_s * 1e3:.0f} ms of processor time (number {tally.slowest_input})")
    print(f"peak memory of the process {tally.peak_mb:.0f} MB")
    for what, count in tally.answers.most_common():
        print(f"{count:8d}  {what}")
    for number, what in sorted(tally.wrong.items())[:200]:
        print(f"--- input {number}\n{what}")
