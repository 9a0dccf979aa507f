"""A file from Nsight Compute, whatever its form, → counters; several pages of one report are put together."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stallscope.errors import InputError
from stallscope.ingest.identify import GZIP, NCU_REPORT
from stallscope.ingest.ncu_csv import read_ncu_csv
from stallscope.ingest.ncu_rep import read_ncu_rep
from stallscope.model.analysis import CaptureNote, Source
from stallscope.model.counters import CounterSet, KernelCounters

_EXPORT_TIMEOUT_S = 300
_MAX_BYTES = 2 << 30


def open_counters(paths: Sequence[Path]) -> CounterSet:
    """Counters of one profiling job from one or several of its files (a report, a raw page, a details page).

    Raises `InputError` naming the file that cannot be read.
    """
    if not paths:
        raise InputError("no Nsight Compute file was given", next_step="pass a .ncu-rep or a CSV page")
    return merged([_open_one(path) for path in paths])


def _open_one(path: Path) -> CounterSet:
    try:
        data = path.read_bytes()
    except OSError as error:
        what = f"cannot be read: {error.strerror or 'input error'}"
        raise InputError(what, file=path.name, next_step="check the path and its permissions") from error
    digest = hashlib.sha256(data).hexdigest()
    if data.startswith(GZIP):
        data = _unpacked(data, path)
    if not data.startswith(NCU_REPORT):
        return read_ncu_csv(data, Source(name=path.name, sha256=digest, format="ncu-csv", producer="Nsight Compute"))
    source = Source(name=path.name, sha256=digest, format="ncu-rep", producer="Nsight Compute")
    try:
        return read_ncu_rep(data, source)
    except InputError as refusal:
        return _exported(path, source, refusal)


def _unpacked(data: bytes, path: Path) -> bytes:
    unpack = zlib.decompressobj(31)
    try:
        plain = unpack.decompress(data, _MAX_BYTES)
    except zlib.error as error:
        raise InputError("damaged gzip file", file=path.name, next_step="copy it again") from error
    if unpack.unconsumed_tail:
        raise InputError("unpacks to more than 2 GiB", file=path.name, next_step="export fewer kernels")
    if not unpack.eof:
        raise InputError("gzip file is cut", file=path.name, next_step="copy it again")
    return plain


def _exported(path: Path, source: Source, refusal: InputError) -> CounterSet:
    """The user's own ncu reads what this reader does not know; without one, the refusal stands."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise refusal
    command = [ncu, "-i", str(path.resolve()), "--csv", "--page", "raw", "--print-units", "base"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_EXPORT_TIMEOUT_S)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        raise refusal from None
    if done.returncode != 0:
        raise refusal
    counters = read_ncu_csv(done.stdout, source)
    note = CaptureNote(id="ncu.exported", message="read through the ncu on PATH, rounded to two decimals")
    return replace(counters, notes=(*counters.notes, note))


def merged(sets: Sequence[CounterSet]) -> CounterSet:
    """Pages of one report put together launch by launch; other files are further runs of the same program.

    The raw page (or the report) has the values, the details page NVIDIA's estimates: a launch with the same place, name
    and shape is the same launch when one of the two pages lacks most of the other's metrics.
    """
    first, *others = sorted(sets, key=lambda one: -len(one.kernels[0].metrics))
    kernels = list(first.kernels)
    for run, other in enumerate(others, 1):
        if _same_report(first, other):
            by_launch = {_launch(kernel): kernel for kernel in other.kernels}
            kernels = [k.merged(by_launch[_launch(k)]) if _launch(k) in by_launch else k for k in kernels]
        else:
            kernels += [replace(kernel, run=kernel.run + 1000 * run) for kernel in other.kernels]
    notes = {(note.id, note.message): note for one in (first, *others) for note in one.notes}
    return CounterSet(first.source, tuple(kernels), tuple(notes.values()))


def _launch(kernel: KernelCounters) -> tuple[object, ...]:
    return kernel.run, kernel.order, kernel.signature


def _same_report(first: CounterSet, other: CounterSet) -> bool:
    """Whether two files are pages of one report: the same launches with durations that agree."""
    ours = {_launch(kernel): kernel for kernel in first.kernels}
    theirs = [(_launch(kernel), kernel) for kernel in other.kernels]
    if not theirs or any(key not in ours for key, _ in theirs):
        return False
    return all(_agree(ours[key], kernel) for key, kernel in theirs)


def _agree(one: KernelCounters, two: KernelCounters) -> bool:
    durations = [k.metrics.get("gpu__time_duration.sum") for k in (one, two)]
    known = [metric for metric in durations if metric is not None]
    if len(known) < 2:
        return True
    return abs(known[0].value - known[1].value) <= known[0].resolution + known[1].resolution + 0.5
