"""Records variants with nsys: one session, and one report, a set of trace options.

Standard library only, so that the package alone, copied to a machine with a GPU, can record there:
`python -m stallscope_probes.recording --nsys PATH --folder FOLDER [NAME…]`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stallscope_probes.catalogue import select
from stallscope_probes.contract import Collect
from stallscope_probes.scaling import UNSCALED

PACKAGES = Path(__file__).resolve().parent.parent
KEPT_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "VIRTUAL_ENV")
# Without --resolve-symbols=false a report about a PyTorch process that holds any code address takes 2 GB with it.
BASE = ("--sample=none", "--cpuctxsw=none", "--resolve-symbols=false")
TRACE_OPTIONS: Mapping[Collect, tuple[str, ...]] = {
    "cuda": ("-t", "cuda,nvtx"),
    "memory": ("-t", "cuda,nvtx", "--cuda-memory-usage=true"),
    "uvm": ("-t", "cuda,nvtx", "--cuda-um-cpu-page-faults=true", "--cuda-um-gpu-page-faults=true"),
    "graph": ("-t", "cuda,nvtx", "--cuda-graph-trace=node"),
    "metrics": ("-t", "cuda,nvtx", "--gpu-metrics-device=0", "--gpu-metrics-frequency=5000"),
    "gil": ("-t", "cuda,nvtx,python-gil"),
    "osrt": ("-t", "cuda,nvtx,osrt", "--osrt-threshold=20000", "--backtrace=none"),
}
SECONDS_A_VARIANT = 2
SECONDS_TO_START = 45


@dataclass(frozen=True)
class Group:
    """Variants that one nsys run records."""

    collect: Collect
    names: tuple[str, ...]
    environment: Mapping[str, str]
    scale_percent: int = UNSCALED

    def command(self, nsys: str, folder: Path) -> list[str]:
        """The nsys command line; the report becomes `<folder>/<collect>.nsys-rep` (or .qdstrm)."""
        program = [sys.executable, "-m", "stallscope_probes.session"]
        output = ["--out", str(folder / f"{self.collect}.jsonl"), "--scale", str(self.scale_percent), *self.names]
        report = ["-o", str(folder / self.collect), "--force-overwrite=true"]
        return [
            nsys,
            "profile",
            f"--session-new=stallscope-{self.collect}",
            *TRACE_OPTIONS[self.collect],
            *BASE,
            *report,
            *program,
            *output,
        ]

    def seconds(self) -> int:
        """How long it may take."""
        return SECONDS_TO_START + SECONDS_A_VARIANT * len(self.names)


def groups(names: Iterable[str], scale_percent: int = UNSCALED) -> tuple[Group, ...]:
    """The chosen variants by what has to be traced, small groups first; families that are not traced are left out."""
    members: dict[Collect, list[str]] = {}
    environment: dict[Collect, dict[str, str]] = {}
    for family, variant in select(names):
        if family.collect != "nothing":
            members.setdefault(family.collect, []).append(f"{family.name}/{variant.name}")
            environment.setdefault(family.collect, {}).update(family.environment)
    found = [
        Group(collect, tuple(variants), environment[collect], scale_percent) for collect, variants in members.items()
    ]
    return tuple(sorted(found, key=lambda group: len(group.names)))


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """What the recorded program gets: a report keeps every variable for good, so nothing else is passed on."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {**kept, "HOME": "/tmp", "PYTHONPATH": str(PACKAGES), **extra}  # noqa: S108 - a neutral place, nothing is kept


def own_process_space() -> list[str]:
    """Prefix that hides the processes of others from the report, where this user may do that."""
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if shutil.which("unshare") is None:
        return []
    allowed = subprocess.run([*prefix, "true"], check=False, capture_output=True)  # noqa: S603
    return prefix if allowed.returncode == 0 else []


def record(group: Group, nsys: str, folder: Path) -> int:
    """Run one group; its log stays beside the reports. Returns nsys's exit code, or 124 when it took too long."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [*own_process_space(), *group.command(nsys, folder)]
    with (folder / f"{group.collect}.log").open("w", encoding="utf-8") as log:
        try:
            done = subprocess.run(  # noqa: S603
                command,
                check=False,
                cwd=folder,
                env=clean_environment(group.environment),
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=group.seconds(),
            )
        except subprocess.TimeoutExpired:
            return 124
    return done.returncode


def main(arguments: Sequence[str] | None = None) -> int:
    """Record what the command line names, one group after the other."""
    parser = argparse.ArgumentParser(prog="stallscope_probes.recording", description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--nsys", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--scale", type=int, default=UNSCALED, metavar="PERCENT")
    options = parser.parse_args(arguments)
    codes = []
    for group in groups(options.names, options.scale):
        codes.append(record(group, options.nsys, options.folder))
        sys.stdout.write(f"{group.collect}: {len(group.names)} variants, exit code {codes[-1]}\n")
        sys.stdout.flush()
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main())
