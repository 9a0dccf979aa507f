"""How much processor time a Python program takes: unlike the clock, other programs on the machine do not change it."""

from __future__ import annotations

import resource
import subprocess
import sys


def processor_s(*arguments: str, repeats: int = 7) -> float:
    """Seconds of the best of several runs of this interpreter with these arguments, whose exit code must be 0."""
    return min(_once(arguments) for _ in range(repeats))


def _once(arguments: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], capture_output=True, timeout=60, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
