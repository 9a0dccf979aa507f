"""One Python process that runs many variants: `python -m stallscope_probes.session [options] NAME…`.

Imports are the slow part of a probe, so a whole group shares a process. The repeats of a variant lie in an NVTX range,
by which its part is cut out of the session's trace. A variant that fails costs the others nothing. One JSON object a
line.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from stallscope_probes.catalogue import UnknownProbeError, select
from stallscope_probes.device.machine import Machine, UnavailableError, open_machine
from stallscope_probes.run import RunOptions, run_variant
from stallscope_probes.timing import time_pair

EXIT_USAGE = 2
EXIT_UNAVAILABLE = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line names; returns the exit code."""
    options = _options().parse_args(arguments)
    try:
        machine = open_machine(options.device)
        chosen = select(options.names)
    except UnavailableError as reason:
        return _stop(str(reason), EXIT_UNAVAILABLE)
    except UnknownProbeError as error:
        return _stop(str(error), EXIT_USAGE)
    how = RunOptions(options.repeats, options.arrays)
    with Path(options.out).open("a", encoding="utf-8") if options.out else sys.stdout as out:
        if options.pairs:
            _time_pairs(machine, options.names, out)
        else:
            for family, variant in chosen:
                record = run_variant(machine, family, variant, how)
                _write(out, record.as_dict())
    return 0


def _time_pairs(machine: Machine, names: Sequence[str], out: TextIO) -> None:
    families = {family.name: family for family, _ in select(names)}
    for family in families.values():
        if family.collect == "nothing":
            continue
        for bad, fixed in family.pairs():
            _write(out, time_pair(machine, family, bad, fixed).as_dict())


def _write(out: TextIO, line: dict[str, Any]) -> None:
    out.write(json.dumps(line, sort_keys=True) + "\n")
    out.flush()


def _stop(message: str, code: int) -> int:
    sys.stderr.write(f"stallscope probe: {message}\n")
    return code


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="stallscope_probes.session", description=__doc__)
    parser.add_argument("names", nargs="*", help="family or family/variant; none means all")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--repeats", type=int, default=None)
    parser.add_argument("--pairs", action="store_true", help="time bad against fixed, interleaved, instead")
    parser.add_argument("--arrays", type=Path, help="keep the results that are compared with a reference here")
    parser.add_argument("--out", help="append JSON lines to this file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
