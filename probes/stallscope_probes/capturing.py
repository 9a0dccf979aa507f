"""`stallscope probe capture`: record, export, cut and label, in a folder of its own until everything is there."""

from __future__ import annotations

import datetime
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stallscope.errors import InputError, ToolMissingError
from stallscope.ingest.nsys_export import Nsys, export, find_nsys
from stallscope_probes.catalogue import select
from stallscope_probes.cutting import cut, session_ranges
from stallscope_probes.device.machine import UnavailableError, open_machine
from stallscope_probes.gains import Timing
from stallscope_probes.recording import BASE, TRACE_OPTIONS, clean_environment, groups, record
from stallscope_probes.samples import Provenance, move_in, write_expected, write_manifest
from stallscope_probes.scaling import UNSCALED

Progress = Callable[[str], None]
REPORT, RECORDS = ".nsys-rep", ".jsonl"


@dataclass(frozen=True)
class CaptureOptions:
    """`nsys` is the program to use (None: the one that is found), `timings` whether to time the repairs too.

    `scale_percent` is the size of the workloads, of their own.
    """

    nsys: str | None = None
    timings: bool = True
    scale_percent: int = UNSCALED
    progress: Progress = lambda _: None


def capture(names: Sequence[str], samples: Path, options: CaptureOptions) -> int:
    """Capture the named variants into `samples`; returns how many. Raises `ToolMissingError` without a GPU or nsys."""
    chosen = select(names)
    nsys = find_nsys(options.nsys)
    try:
        open_machine("cuda")
    except UnavailableError as reason:
        raise ToolMissingError(
            f"capturing needs a GPU: {reason}",
            next_step="run it on a machine with one; probe run --device cpu checks the logic",
        ) from reason
    samples.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="stallscope-probes-") as folder:
        session = Path(folder)
        for group in groups(names, options.scale_percent):
            options.progress(f"recording {len(group.names)} variants ({group.collect})")
            code = record(group, nsys.program, session)
            if code:
                options.progress(f"nsys ended with code {code}: {_last_line(session / f'{group.collect}.log')}")
        untraced = [f"{family.name}/{variant.name}" for family, variant in chosen if family.collect == "nothing"]
        if untraced:
            _run([*untraced, "--arrays", str(session / "arrays"), "--out", str(session / "nothing.jsonl")])
        if options.timings:
            options.progress("timing the repairs without a profiler")
            _run([*names, "--pairs", "--scale", str(options.scale_percent), "--out", str(session / "pairs.timings")])
        return collect(session, samples, nsys, options.progress)


def collect(session: Path, samples: Path, nsys: Nsys, progress: Progress = lambda _: None) -> int:
    """Turn the reports of a session folder into labelled samples; returns how many captures were cut."""
    records = _lines(session.glob(f"*{RECORDS}"))
    timings = [msgspec.convert(line, Timing) for line in _lines(session.glob("*.timings"))]
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=samples))
    try:
        count = sum(_cut_report(report, made, nsys, progress) for report in sorted(session.glob(f"*{REPORT}")))
        for arrays in sorted((session / "arrays").glob("*.npz")):
            family, _, variant = arrays.stem.partition(".")
            (made / family).mkdir(exist_ok=True)
            shutil.copyfile(arrays, made / family / f"{variant}.npz")
        if not count and not any(made.iterdir()):
            raise InputError("nothing was recorded", next_step="run the command again with --debug, and see nsys's log")
        write_expected(made, records, timings)
        move_in(made, samples)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    write_manifest(samples, _provenance(records, nsys))
    return count


def _cut_report(report: Path, made: Path, nsys: Nsys, progress: Progress) -> int:
    database = report.with_suffix(".sqlite")
    if not database.is_file():
        export(report, database, nsys)
    parts = session_ranges(database)
    for part in parts:
        progress(f"cutting {part.probe}")
        target = made / f"{part.probe}.sqlite"
        target.parent.mkdir(exist_ok=True)
        cut(database, part, target)
    return len(parts)


def _run(arguments: Sequence[str]) -> None:
    """A session that nothing traces, in a process of its own; what it could not do is in its records."""
    command = [sys.executable, "-m", "stallscope_probes.session", *arguments]
    subprocess.run(command, check=False, env=clean_environment({}))  # noqa: S603


def _lines(paths: Iterable[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted(paths) for line in path.read_text(encoding="utf-8").splitlines()]


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n") if log.is_file() else []
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _provenance(records: Sequence[dict[str, Any]], nsys: Nsys) -> Provenance:
    unknown: dict[str, Any] = {"device": {}, "versions": {}}
    first = next((record for record in records if record["status"] == "ok"), unknown)
    options = "; ".join(f"{' '.join(flags)}" for flags in TRACE_OPTIONS.values())
    return Provenance(
        gpu=first["device"].get("name", ""),
        driver=first["device"].get("driver", ""),
        cuda=first["device"].get("cuda", ""),
        torch=first["versions"].get("torch", ""),
        nsys=nsys.label,
        date=datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat(),
        command=f"nsys profile {' '.join(BASE)} ({options}) python -m stallscope_probes.session",
    )
