"""One Python process that runs many variants: `python -m stallscope_probes.session [options] NAME…`.

Imports are the slow part of a probe, so a whole group shares a process. The repeats of a variant lie in an NVTX range,
by which its part is cut out of the session's trace. A variant that fails costs the others nothing. One JSON object a
line. Needs PyTorch and cuda-bindings, and nothing of stallscope.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stallscope_probes.catalogue import UnknownProbeError, select
from stallscope_probes.device.machine import Machine, UnavailableError, open_machine
from stallscope_probes.run import RunOptions, run_variant
from stallscope_probes.scaling import UNSCALED, scaled
from stallscope_probes.timing import time_pair

EXIT_USAGE = 2
EXIT_UNAVAILABLE = 4


@dataclass(frozen=True)
class SessionOptions:
    """`pairs` times every bad variant against its repair instead of running all variants; `out` is appended to.

    `scale_percent` is the size of the workloads, of their own.
    """

    device: str = "cuda"
    pairs: bool = False
    run: RunOptions = field(default_factory=RunOptions)
    out: Path | None = None
    scale_percent: int = UNSCALED


def run_session(names: Sequence[str], options: SessionOptions) -> int:
    """Run the named variants and write a line each; returns how many.

    Raises `UnavailableError` without the device and `UnknownProbeError` for a name that is none, before anything is
    written.
    """
    select(names)
    machine = open_machine(options.device)
    lines = _timings(machine, names, options) if options.pairs else _records(machine, names, options)
    count = 0
    for line in lines:
        text = json.dumps(line, sort_keys=True) + "\n"
        if options.out is None:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            with options.out.open("a", encoding="utf-8") as out:
                out.write(text)
        count += 1
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; returns the exit code."""
    given = _parser().parse_args(arguments)
    options = SessionOptions(given.device, given.pairs, RunOptions(given.repeats, given.arrays), given.out, given.scale)
    try:
        run_session(given.names, options)
    except UnavailableError as reason:
        return _stop(str(reason), EXIT_UNAVAILABLE)
    except UnknownProbeError as error:
        return _stop(str(error), EXIT_USAGE)
    return 0


def _records(machine: Machine, names: Sequence[str], options: SessionOptions) -> Iterator[dict[str, Any]]:
    for family, variant in select(names):
        yield run_variant(machine, family, scaled(variant, options.scale_percent), options.run).as_dict()


def _timings(machine: Machine, names: Sequence[str], options: SessionOptions) -> Iterator[dict[str, Any]]:
    families = {family.name: family for family, _ in select(names) if family.collect != "nothing"}
    for family in families.values():
        for bad, fixed in family.pairs():
            sides = (scaled(bad, options.scale_percent), scaled(fixed, options.scale_percent))
            yield time_pair(machine, family, *sides).as_dict()


def _stop(message: str, code: int) -> int:
    sys.stderr.write(f"stallscope probe: {message}\n")
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stallscope_probes.session", description=__doc__)
    parser.add_argument("names", nargs="*", help="family or family/variant; none means all")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--repeats", type=int, default=None)
    parser.add_argument("--pairs", action="store_true", help="time bad against fixed, interleaved, instead")
    parser.add_argument("--scale", type=int, default=UNSCALED, metavar="PERCENT", help="sizes and durations")
    parser.add_argument("--arrays", type=Path, help="keep the results that are compared with a reference here")
    parser.add_argument("--out", type=Path, help="append JSON lines to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
